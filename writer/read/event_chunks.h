/* SPDX-License-Identifier: BSD-3-Clause
 * Reads rows of /events from their chunks as stored, without HDF5's path from a chunk to rows.
 *
 * HDF5 has the last word: this code refuses whatever differs from what regtrace's writer makes, and
 * leaves it to H5Dread, so that HDF5 alone decides what is damaged. */
#ifndef REGTRACE_WRITER_READ_EVENT_CHUNKS_H
#define REGTRACE_WRITER_READ_EVENT_CHUNKS_H

#include "writer/file/schema.h"

struct chunks;

/* Opens the chunks of a file that no process writes. Returns NULL if the type, the filters or the
 * layout differ, or if there is no memory. The caller owns `events`, and keeps it open until
 * chunks_close(). */
struct chunks *chunks_open(hid_t events) RT_MUST_CHECK;
void chunks_close(struct chunks *c);

/* Copies rows that the dataset has to `out`. Returns false if HDF5 must read them; `out` may then
 * hold anything. */
RT_MUST_CHECK bool chunks_read(struct chunks *c, uint64_t first, uint64_t count,
                               struct rt_event *out);

#endif
