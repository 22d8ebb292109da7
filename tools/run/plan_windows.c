/* SPDX-License-Identifier: BSD-3-Clause
 * Spreads a constant number of windows evenly over the instructions of a run. */
#include "tools/run/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HELPER_THREADS 1000 /* thread numbers from here on belong to MPI and its libraries */

int plan_read_rank(struct plan_rank *out, const struct rt_rank *rank, struct rt_error *e)
{
    const struct rt_rank_info *info = rt_rank_info(rank);
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    *out = (struct plan_rank){.rank = info->rank >= 0 ? info->rank : 0, .thread = -1};
    if (info->state == RT_FILE_LIVE) {
        rt_error_set(e, "it is still being written: plan when the program has ended (-wait)");
        return -EBUSY;
    }
    if (info->state == RT_FILE_ABANDONED) {
        rt_error_set(e, "its writer left it; `regtrace recover` finishes it");
        return -EBUSY;
    }
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct rt_thread *row = &t->threads[i];
        if (row->thread >= HELPER_THREADS || row->instructions == 0)
            continue;
        out->threads++;
        if (row->instructions > out->total) {
            out->total = row->instructions;
            out->thread = row->thread;
        }
    }
    if (out->total != 0 && strcmp(info->end_reason, "killed") != 0)
        return 0;
    if (strcmp(info->end_reason, "killed") == 0)
        rt_error_set(e,
                     "rank %" PRId32 " was killed, so that its total is unknown; count again with "
                     "a run that ends, or leave the rank out (-rank)",
                     out->rank);
    else
        rt_error_set(e,
                     "it has no instruction totals: they come from a counting run, `regtrace run "
                     "--count -- program`, or one with icount or uniform alarms");
    return -ENODATA;
}

static int by_total(const void *a, const void *b)
{
    const struct plan_rank *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_rank(const void *a, const void *b)
{
    const struct plan_rank *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Returns the thread that drives the windows; -1: any, since only one was counted. */
static int32_t driver_of(const struct plan_rank *r)
{
    return r->threads > 1 ? r->thread : -1;
}

int plan_group(struct plan_rank *ranks, size_t rank_count, struct plan_group **groups,
               size_t *count)
{
    struct plan_group *g = calloc(rank_count + 1, sizeof *g);
    size_t n = 0;
    *groups = g;
    *count = 0;
    if (g == NULL)
        return -ENOMEM;
    qsort(ranks, rank_count, sizeof *ranks, by_total);
    for (size_t i = 0; i < rank_count; i++) {
        struct plan_group *last = n > 0 ? &g[n - 1] : NULL;
        bool alike = last != NULL && last->thread == driver_of(&ranks[i]) &&
                     (double)(ranks[i].total - last->total) <= PLAN_APART * (double)last->total;
        if (!alike) {
            last = &g[n++];
            *last = (struct plan_group){
                .first = i, .thread = driver_of(&ranks[i]), .total = ranks[i].total};
        }
        last->count++;
        last->most = ranks[i].total;
    }
    for (size_t i = 0; i < n; i++)
        qsort(ranks + g[i].first, g[i].count, sizeof *ranks, by_rank);
    *count = n;
    return 0;
}

char *plan_ranks_text(const struct plan_rank *ranks, const struct plan_group *group)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < group->count;) {
        size_t k = i;
        const struct plan_rank *r = ranks + group->first;
        while (k + 1 < group->count && r[k + 1].rank == r[k].rank + 1)
            k++;
        (void)fprintf(out, "%s%" PRId32, i > 0 ? "+" : "", r[i].rank);
        if (k > i)
            (void)fprintf(out, "-%" PRId32, r[k].rank);
        i = k + 1;
    }
    return fclose(out) == 0 ? text : NULL;
}

/* A window lies in the middle of its share of the run, so that the last one still ends within a run
 * that is a little shorter. A warm-up needs a repeated chain: a full gap before each window, half a
 * gap after the last. */
uint64_t plan_period(const struct plan_windows *plan, uint64_t total)
{
    if (plan->warmup == 0)
        return total / plan->windows;
    __uint128_t twice = 2 * (__uint128_t)total + plan->warmup + plan->length;
    return (uint64_t)(twice / (2 * (__uint128_t)plan->windows + 1));
}

static int too_large(const struct plan_windows *plan, const struct plan_group *g, int32_t rank,
                     struct rt_error *e)
{
    uint64_t each = plan->length + plan->warmup, most = g->total / each;
    char fewer[64] = "";
    if (most > 0)
        (void)snprintf(fewer, sizeof fewer, "at most %" PRIu64 " such windows (-windows)", most);
    else
        (void)snprintf(fewer, sizeof fewer, "not even one such window (-length, -warmup)");
    rt_error_set(e,
                 "%" PRIu64 " windows of %" PRIu64 " instructions do not fit: rank %" PRId32
                 " has %" PRIu64 " instructions, room for %s%s",
                 plan->windows, each, rank, g->total, fewer,
                 g->total / plan->windows > plan->warmup ? ""
                                                         : ", and -warmup alone takes them all");
    return -ERANGE;
}

static bool fits(const struct plan_windows *plan, const struct plan_group *g)
{
    __uint128_t need = ((__uint128_t)plan->length + plan->warmup) * plan->windows;
    return need <= g->total && plan_period(plan, g->total) >= plan->length + plan->warmup;
}

char *plan_chain(const struct plan_windows *plan, const struct plan_rank *ranks,
                 const struct plan_group *g, bool all, struct rt_error *e)
{
    char tokens[48] = "", *on = NULL, *chain = NULL, *list = NULL;
    if (!fits(plan, g)) {
        (void)too_large(plan, g, ranks[g->first].rank, e);
        return NULL;
    }
    uint64_t period = plan_period(plan, g->total);
    uint64_t gap = period - plan->length - plan->warmup;
    if (g->thread >= 0)
        (void)snprintf(tokens, sizeof tokens, ":tid%" PRId32, g->thread);
    list = all ? NULL : plan_ranks_text(ranks, g);
    int n = asprintf(&on, "%s%s%s", tokens, list != NULL ? ":ranks" : "", list != NULL ? list : "");
    if (n >= 0 && (all || list != NULL) && plan->warmup == 0)
        n = asprintf(&chain,
                     "precond:icount:%" PRIu64 "%s,uniform:%" PRIu64 ":%" PRIu64 ":%" PRIu64 "%s",
                     gap / 2, on, period, plan->length, plan->windows, on);
    else if (n >= 0 && (all || list != NULL))
        n = asprintf(&chain,
                     "warmup-start:icount:%" PRIu64 "%s:bcast,start:icount:%" PRIu64
                     "%s:bcast,stop:icount:%" PRIu64 "%s:bcast,repeat:%" PRIu64,
                     gap, on, plan->warmup, on, plan->length, on, plan->windows);
    free(list);
    free(on);
    if (n < 0 || chain == NULL) {
        rt_error_set(e, "no memory");
        return NULL;
    }
    return chain;
}
