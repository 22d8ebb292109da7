/* SPDX-License-Identifier: BSD-3-Clause
 * How the sends that one process has recorded lie to the receives that another one has: by how many the one are ahead of the other.
 *
 * On a way the order of receives is that of sends, so one number, the shift, says which belongs to which within a stretch: receive i is of send
 * i + shift. What excludes a shift for good: a message received before its send began, or with another number of bytes; a receive that was
 * over before the sender's window was, of a send behind it; an MPI_Ssend that ended before its receive was posted. Of the shifts that are left
 * the largest has the fewest messages under way. A smaller one says that each message had been there for longer. It is given up when five
 * receives or more, and so many that not one in 50 could have been by chance (10^-7), waited in a call in which all else had been
 * complete before it began, and also their message, if that shift were right, and came back only after the send of the largest had begun.
 * One receive may be late because the processor was another's; that many are not. Where a smaller shift is left nothing is said. */
#ifndef REGTRACE_TOOLS_MESSAGES_SHIFT_H
#define REGTRACE_TOOLS_MESSAGES_SHIFT_H

#include "tools/messages/likely.h"

/* Sends and receives of one way in a stretch each; by their numbers there, in order. */
struct shift_run {
    const struct likely_stretch *from;
    struct likely_stretch *to;
    const uint32_t *sends, *receives;
    size_t send_count, receive_count;
    int64_t error_ns; /* of the difference of their clocks */
    int64_t most;     /* the largest shift that is not excluded */
    bool possible;    /* there is one */
    bool sure;        /* ... and no other */
};

/* Which run a receive of the stretch is in, and where there. */
struct shift_place {
    const struct shift_run *run; /* NULL: none, or several */
    size_t at;
};

/* Finds run->most. */
void shift_bound(struct shift_run *run);
/* Finds run->sure. places: of the receives of run->to; their runs have been bounded. */
void shift_judge(struct shift_run *run, const struct shift_place *places);

#endif
