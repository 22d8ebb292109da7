/* SPDX-License-Identifier: BSD-3-Clause
 * Replays a run on an ideal network, on which messages and collective calls take no time, as
 * Dimemas does with infinite bandwidth and no latency (Girona, Labarta, Badia 2000): ranks still
 * wait for data that others have not made yet. Each thread has a logical clock, which advances with
 * the time between MPI calls, and to the clock of a sender or of other ranks where it depends on
 * them.
 *
 * Sums are of the main threads of processes in which MPI is up, for each window: from its opening,
 * or the end of MPI_Init in it, to its closing, or the begin of MPI_Finalize in it. Whether a
 * thread calls MPI in the window makes no difference, unless the recording does not say when MPI
 * came up: then the windows with calls count.
 *
 * As long as some main thread is in a window, logical clocks go on, also between the windows of a
 * thread. When none was, they begin anew with the time: nobody knows who waited for whom. */
#ifndef REGTRACE_TOOLS_WAITS_IDEAL_TIMES_H
#define REGTRACE_TOOLS_WAITS_IDEAL_TIMES_H

#include "tools/waits/ideal_steps.h"

/* One window, of all processes. Times in ns. */
struct ideal_window {
    int32_t ordinal;
    uint32_t processes;
    uint32_t unfinished;                 /* further processes, which were killed in it */
    int64_t first_open, last_close;      /* as in streams.h */
    int64_t first_logical, last_logical; /* first begin and last end on an ideal network */
    int64_t useful;                      /* time outside MPI, of all processes together */
    int64_t most_useful;                 /* of the process that has most */
    int32_t most_useful_rank;            /* its rank; -1: no process has any */
    int64_t ideal;                       /* how long the window takes on an ideal network */
    bool has_gaps;                       /* events were dropped: times are too short */
};

/* All windows together. Times in ns. */
struct ideal_run {
    uint32_t processes;                 /* with a window that has ended */
    int64_t length;                     /* time in which some process was in a window */
    int64_t useful, most_useful, ideal; /* as in struct ideal_window */
    int32_t most_useful_rank;           /* likewise */
};

/* Returns whether windows of different ordinals overlap in time: the first of length `before` ends
 * at before_end. Less than 1 % of the shorter one does not count: ranks do not leave a barrier at
 * the same time. */
static inline bool windows_overlap(int64_t before, int64_t before_end, int64_t begin, int64_t end)
{
    int64_t shorter = before < end - begin ? before : end - begin;
    return before_end - begin > shorter / 100;
}

struct ideal_times;

/* Replays the steps of these streams, all of which must outlive it. Windows that are still open
 * have no end; windows that are not in `windows` are no part of struct ideal_run. Returns NULL
 * without memory, also if there was none for what calls depend on. */
struct ideal_times *ideal_replay(const struct ideal_steps *steps, const struct streams *streams,
                                 const struct window_span *windows);
/* Returns the windows that have ended, by ordinal, until ideal_close(); fills in *all. */
const struct ideal_window *ideal_windows(struct ideal_times *t, size_t *count,
                                         struct ideal_run *all);
void ideal_close(struct ideal_times *t);

#endif
