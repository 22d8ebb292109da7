/* SPDX-License-Identifier: BSD-3-Clause
 * Ascribes waits to what caused them: delay costs, as Scalasca has them (Boehme, Geimer, Wolf,
 * Arnold: Identifying the root causes of wait states in large-scale parallel applications, ICPP
 * 2010). share/doc/dev/delays.md has the definition.
 *
 * A rank waits for another one that came late. Both were at the same time last when one of them
 * waited for the other, or both for the same call of a third: there the interval of this wait
 * begins, but not before the last window of the waiting rank opened. In it, the late rank spent
 * more time in some activities than the one that waits. Waiting for others is one of them, and so
 * is its time outside windows, of which nothing is recorded. The wait is ascribed to these in
 * proportion to the excess. The part of activities other than waiting is direct cost. The part of
 * waiting is carried over to the waits that the late rank had in the interval, and becomes
 * propagated cost of what caused these. So the costs of all delays together are the time of all
 * waits. */
#ifndef REGTRACE_TOOLS_CAUSES_DELAYS_H
#define REGTRACE_TOOLS_CAUSES_DELAYS_H

#include "tools/causes/history.h"

struct delay {
    int32_t rank; /* that came late */
    uint32_t activity;
    uint64_t waits;             /* that it had a part in */
    double direct_ns;           /* waits of others for this rank */
    double carried_ns;          /* waits of others that those have caused */
    struct past_moment longest; /* the wait that it had the largest part in, and who waited */
};

/* Zero-initialize before use; free with delays_free(). */
struct delays {
    struct key_table keys;
    struct delay *rows;
    size_t room;
    double unknown_ns; /* waits in, or for, calls that are not known */
    struct {
        double ns;       /* cost of what is not recorded: waits for late windows, ... */
        double worst_ns; /* the most that one wait costs of it, and for which call */
        int32_t rank, window;
    } unrecorded;
};

/* Takes the history after the last record and wait. windows: waits in these are costs.
 * Returns 0 or -ENOMEM. */
RT_MUST_CHECK int delays_find(struct delays *d, struct history *h,
                              const struct window_span *windows);
void delays_free(struct delays *d);

#endif
