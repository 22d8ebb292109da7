/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace plan`: makes chains that spread windows over the instructions of each rank. */
#ifndef REGTRACE_TOOLS_RUN_PLAN_H
#define REGTRACE_TOOLS_RUN_PLAN_H

#include "tools/tools.h"
#include "writer/writer.h"

#define PLAN_APART 0.01 /* totals that differ by more get chains of their own */

/* The request, in instructions. */
struct plan_windows {
    uint64_t windows, length, warmup;
};

/* A rank, and the thread that drives its windows: the one with the most instructions. */
struct plan_rank {
    int32_t rank, thread;
    uint64_t total;   /* instructions of that thread, from start to end */
    uint32_t threads; /* counted threads, without those of MPI */
};

/* Ranks with similar totals. They get one chain, made for the smallest total. */
struct plan_group {
    size_t first, count; /* in the sorted array */
    int32_t thread;      /* -1: any, since only one was counted */
    uint64_t total, most;
};

/* Reads the total of one rank file. Returns 0, or -errno with the reason and the remedy: -ENODATA
 * if the file has no totals, -EBUSY if it is not complete. */
RT_MUST_CHECK int plan_read_rank(struct plan_rank *out, const struct rt_rank *rank,
                                 struct rt_error *e);

/* Sorts the ranks and groups them. Sets *groups to a malloc'ed array of *count groups. Returns 0 or
 * -ENOMEM. */
RT_MUST_CHECK int plan_group(struct plan_rank *ranks, size_t rank_count, struct plan_group **groups,
                             size_t *count);

/* Returns the chain of a group, malloc'ed, without a newline. `all`: the group has every rank of
 * the run, so the chain names none. Returns NULL with the text if the windows do not fit (the text
 * says how many would), or without memory. */
char *plan_chain(const struct plan_windows *plan, const struct plan_rank *ranks,
                 const struct plan_group *group, bool all, struct rt_error *e);

/* Returns the ranks of a group in order, such as "0-3+8", malloc'ed; NULL without memory. */
char *plan_ranks_text(const struct plan_rank *ranks, const struct plan_group *group);

/* Returns the distance from the start of one window (of its warm-up, if there is one) to the start
 * of the next. */
uint64_t plan_period(const struct plan_windows *plan, uint64_t total);

#endif
