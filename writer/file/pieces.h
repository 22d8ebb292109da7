/* SPDX-License-Identifier: BSD-3-Clause
 * /pieces: which stretches of /events are whose, found as they are written. */
#ifndef REGTRACE_WRITER_FILE_PIECES_H
#define REGTRACE_WRITER_FILE_PIECES_H

#include "writer/file/table.h"

/* Rows of /events that one row of /pieces says at most: so much of a file that is open is in no row yet, beside the tail. */
#define PIECES_LONGEST 65536u

/* What `check` of a row is to be; share/doc/schema.md has the rule, for other readers. */
uint32_t pieces_check(const struct rt_piece *p);

/* `count` events have been written, from row `first` on. *open is the stretch that may go on, zeros at first; what has ended is
 * appended to *to. 0 or -ENOMEM. */
RT_MUST_CHECK int pieces_add(struct rt_piece *open, struct table *to, const struct rt_event *events,
                             size_t count, uint64_t first);

/* Nothing follows it. 0 or -ENOMEM. */
RT_MUST_CHECK int pieces_end(struct rt_piece *open, struct table *to);

#endif
