/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of /fired and /windows that are damaged at the end of a file whose writer was killed: its events tell them again. */
#ifndef REGTRACE_WRITER_REPAIR_OLD_ROWS_H
#define REGTRACE_WRITER_REPAIR_OLD_ROWS_H

#include "writer/drain.h"
#include "writer/read/reader.h"

struct old_rows {
    size_t fired, windows;             /* how many of the old rows fit their events */
    uint64_t fired_from, windows_from; /* from these rows of /events on they are made anew */
    uint64_t remade, left_out;         /* rows that were, and such whose event is not there */
};

/* Look at the last rows of both tables: 0, or -errno with the text where an event cannot be read. */
RT_MUST_CHECK int old_rows_begin(struct old_rows *o, struct rt_rank *old, struct rt_error *e);
/* An event that has been copied to `row`: make what row is missing. d: with its file set. */
RT_MUST_CHECK int old_rows_take(struct old_rows *o, struct drain *d, const struct rt_event *e,
                                uint64_t row);
/* Appended to text, which has `room` bytes; nothing where no row was damaged. */
void old_rows_tell(const struct old_rows *o, char *text, size_t room);

#endif
