/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of /events from its chunks as they are stored, without HDF5's way from a chunk to rows. HDF5 has the last word: whatever
 * is not as this project's writer makes it is refused here and left to H5Dread, so that it alone says what is damaged. */
#ifndef REGTRACE_WRITER_READ_CHUNKS_H
#define REGTRACE_WRITER_READ_CHUNKS_H

#include "writer/file/schema.h"

struct chunks;

/* Of a file that nobody writes. NULL: the type, the filters or the layout are other ones, or there is no memory. `events` stays
 * the caller's, open for as long as this. */
struct chunks *chunks_open(hid_t events) RT_MUST_CHECK;
void chunks_close(struct chunks *c);

/* Copies rows that the dataset has to `out`; false: they have to be read by HDF5, and `out` may hold anything. */
RT_MUST_CHECK bool chunks_read(struct chunks *c, uint64_t first, uint64_t count,
                               struct rt_event *out);

#endif
