/* SPDX-License-Identifier: BSD-3-Clause
 * /pieces: tells to which threads the rows of /events belong; made while the events are written. */
#ifndef REGTRACE_WRITER_FILE_PIECES_H
#define REGTRACE_WRITER_FILE_PIECES_H

#include "writer/file/table.h"

/* Most events that one row of /pieces covers. So in an open file at most this many rows of /events
 * are in no piece yet. */
#define PIECES_LONGEST 65536u

/* Returns the value that `check` of the row must have. share/doc/schema.md has the rule, for other
 * readers. */
uint32_t pieces_check(const struct rt_piece *p);

/* Takes `count` events that were written from row `first` on. *open is the piece that may still
 * grow, zeros at first; pieces that have ended are appended to *to. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int pieces_add(struct rt_piece *open, struct table *to, const struct rt_event *events,
                             size_t count, uint64_t first);

/* Ends the open piece. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int pieces_end(struct rt_piece *open, struct table *to);

#endif
