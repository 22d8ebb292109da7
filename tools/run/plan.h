/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace plan`: from the instructions of each rank to the chains that spread windows over them. */
#ifndef REGTRACE_TOOLS_RUN_PLAN_H
#define REGTRACE_TOOLS_RUN_PLAN_H

#include "tools/tools.h"
#include "writer/writer.h"

#define PLAN_APART 0.01 /* totals that differ by more get chains of their own */

/* What was asked for, in instructions. */
struct plan_wish {
    uint64_t windows, length, warmup;
};

/* The thread of a rank that drives its windows: the one with the most instructions. */
struct plan_rank {
    int32_t rank, thread;
    uint64_t total;   /* instructions of that thread, from start to end */
    uint32_t threads; /* that were counted, those of MPI left out */
};

/* Ranks whose totals are alike. They get one chain, made for the smallest of them. */
struct plan_group {
    size_t first, count; /* in the sorted array */
    int32_t thread;      /* -1: any, there is one only */
    uint64_t total, most;
};

/* The total of one rank file. 0, or -ENODATA and others with the reason and the remedy. */
RT_MUST_CHECK int plan_read_rank(struct plan_rank *out, const struct rt_rank *rank,
                                 struct rt_error *e);

/* Sort and group them; *groups is malloc'ed, *count of them. 0 or -ENOMEM. */
RT_MUST_CHECK int plan_group(struct plan_rank *ranks, size_t rank_count, struct plan_group **groups,
                             size_t *count);

/* The chain of a group, malloc'ed, without a newline. `all`: every rank of the run is in it, so that it names none. NULL with the
 * text: it does not fit (-ERANGE, how many windows would), or no memory. */
char *plan_chain(const struct plan_wish *wish, const struct plan_rank *ranks,
                 const struct plan_group *group, bool all, struct rt_error *e);

/* "0-3+8", the ranks of a group in order; malloc'ed, NULL without memory. */
char *plan_ranks_text(const struct plan_rank *ranks, const struct plan_group *group);

/* From the start of one window (its warm-up, where there is one) to that of the next. */
uint64_t plan_period(const struct plan_wish *wish, uint64_t total);

#endif
