/* SPDX-License-Identifier: BSD-3-Clause
 * Repairs damaged rows at the end of /fired and /windows of a killed writer's file, from its
 * events. */
#ifndef REGTRACE_WRITER_REPAIR_OLD_ROWS_H
#define REGTRACE_WRITER_REPAIR_OLD_ROWS_H

#include "writer/drain.h"
#include "writer/read/reader.h"

struct old_rows {
    size_t fired, windows;             /* number of old rows that fit their events */
    uint64_t fired_from, windows_from; /* rows of /events from which on they are made anew */
    uint64_t remade, left_out;         /* rows made anew; rows whose event is missing */
};

/* Checks the last rows of both tables. Returns 0, or -errno with the text in *e if an event cannot
 * be read. */
RT_MUST_CHECK int old_rows_begin(struct old_rows *o, struct rt_rank *old, struct rt_error *e);
/* Takes an event that was copied to row `row` of /events, and makes the row that is missing for it.
 * The file of `d` is set. Returns 0 or -errno. */
RT_MUST_CHECK int old_rows_take(struct old_rows *o, struct drain *d, const struct rt_event *e,
                                uint64_t row);
/* Appends what was done to `text`, which has `room` bytes; nothing if no row was damaged. */
void old_rows_tell(const struct old_rows *o, char *text, size_t room);

#endif
