/* SPDX-License-Identifier: BSD-3-Clause
 * Finds by how many the sends that one process has recorded are ahead of the receives that another
 * process has recorded.
 *
 * In a queue, receives have the order of sends. So within a segment one number, the shift,
 * determines the pairs: receive i gets send i + shift. These exclude a shift for certain:
 * - a message that is received before its send begins, or with another number of bytes
 * - a receive that ends before the sender's window does, of a send after that window
 * - an MPI_Ssend that ends before its receive is posted
 *
 * Of the shifts that remain, the largest has the fewest messages under way. A smaller shift means
 * that each message arrived earlier. It is given up if at least five receives speak against it, and
 * so many that chance explains them with a probability of at most 10^-7, if one receive in 50 is
 * late by chance. A receive speaks against a shift if it waited in a call before which everything
 * else was complete, and also its own message if the shift were right; but the call returned only
 * after the send of the largest shift had begun. One receive may be late because another thread had
 * the processor, but not that many. If a smaller shift remains, nothing is reported. */
#ifndef REGTRACE_TOOLS_MESSAGES_SHIFT_H
#define REGTRACE_TOOLS_MESSAGES_SHIFT_H

#include "tools/messages/likely_messages.h"

/* The sends and receives of one queue in one segment each, by their numbers there, in order. */
struct shift_run {
    const struct likely_stretch *from;
    struct likely_stretch *to;
    const uint32_t *sends, *receives;
    size_t send_count, receive_count;
    int64_t error_ns; /* possible error of the difference of their clocks */
    int64_t most;     /* the largest shift that is not excluded */
    bool possible;    /* `most` exists */
    bool sure;        /* ... and no other shift remains */
};

/* The run that a receive of the segment is in, and its index there. */
struct shift_place {
    const struct shift_run *run; /* NULL: none, or several */
    size_t at;
};

/* Finds run->most. */
void shift_bound(struct shift_run *run);
/* Finds run->sure. places: those of the receives of run->to; shift_bound() has been called for
 * their runs. */
void shift_judge(struct shift_run *run, const struct shift_place *places);

#endif
