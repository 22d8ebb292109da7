/* SPDX-License-Identifier: BSD-3-Clause
 * The critical path of each window: the sequence of activities that decides how long it takes.
 *
 * From the last closing on, the path goes back in time on one thread. Where this waited for another
 * one, the path goes on there, at the begin of the call that came late. So it has no waiting, but
 * what is not known: waits for calls outside windows are time in MPI. It ends where the history of
 * its thread begins.
 *
 * Windows of all ranks with the same ordinal are one phase. If such phases overlap in time (by more
 * than 1 % of the shorter one), because ranks run through windows without waiting for each other,
 * they are one phase together, and the time of a rank between its windows is an activity. Paths are
 * for windows alone that all ranks of the world have, and of their main threads. */
#ifndef REGTRACE_TOOLS_CAUSES_CRITICAL_PATH_H
#define REGTRACE_TOOLS_CAUSES_CRITICAL_PATH_H

#include "tools/causes/history.h"

struct critical_window {
    int32_t ordinal, last_ordinal; /* the same but for windows that overlap */
    uint32_t processes;
    int64_t begin, end; /* of the path, as in streams.h */
    uint64_t crossings; /* from rank to rank */
    uint64_t broken;    /* waits for another window: the path stays on its rank */
    double longest_ns;  /* on one rank, */
    int32_t longest_rank;
    bool is_partial; /* not all ranks have the window: the path is not known */
    bool has_gaps;   /* events were dropped on a rank */
};

struct critical_activity {
    double path_ns;             /* on the path */
    double mean_ns;             /* mean over ranks, without waiting */
    struct past_moment longest; /* its longest stretch on the path, and on which rank */
};

struct critical_path {
    struct critical_window *windows; /* by ordinal */
    size_t window_count, window_room;
    struct critical_activity *activities; /* by number of the activity */
    uint32_t activity_count;
    double *ranks; /* time on the path by rank */
    uint32_t rank_count;
    double length_ns; /* of all windows together */
};

/* Finds the paths of these windows. ranks: of the world; 0: unknown. Returns 0 or
 * -ENOMEM. Free in both cases. */
RT_MUST_CHECK int critical_path_find(struct critical_path *out, const struct history *h,
                                     uint32_t ranks, const struct window_span *windows);
void critical_path_free(struct critical_path *p);

#endif
