/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what a counting run (`regtrace run --count`) counted: the instructions of each thread from
 * start to end. */
#include "tools/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_SHOWN 48 /* with more threads, ranks are shown */
#define RANKS_SHOWN 48
#define RANKS_EXTREME 5

struct rank_sum {
    const struct report_rank *rank;
    uint64_t instructions, threads, uncounted;
};

static int by_instructions(const void *a, const void *b)
{
    const struct rank_sum *x = a, *y = b;
    if (x->instructions != y->instructions)
        return x->instructions < y->instructions ? 1 : -1;
    return x->rank->info.rank < y->rank->info.rank ? -1 : x->rank->info.rank > y->rank->info.rank;
}

void report_rank_name(char out[48], const struct report_rank *k)
{
    if (k->info.is_main || k->error != NULL)
        (void)snprintf(out, 48, "%" PRId32, k->info.rank);
    else if (k->info.world > 1)
        (void)snprintf(out, 48, "%" PRId32 " (world %" PRIu32 ", pid %" PRIu32 ")", k->info.rank,
                       k->info.world, k->info.pid);
    else
        (void)snprintf(out, 48, "%" PRId32 " (pid %" PRIu32 ")", k->info.rank, k->info.pid);
}

static void print_rank_name(FILE *out, const struct report_rank *k)
{
    char name[48];
    report_rank_name(name, k);
    (void)fprintf(out, "  %-16s", name);
}

static void print_threads(FILE *out, const struct report_rank *k, double all)
{
    for (size_t i = 0; i < k->thread_count; i++) {
        const struct report_thread *t = &k->threads[i];
        print_rank_name(out, k);
        if (t->row.instructions != 0)
            (void)fprintf(out, " %8" PRId32 " %20" PRIu64 " %6.1f%%  ", t->row.thread,
                          t->row.instructions, 100 * (double)t->row.instructions / all);
        else
            (void)fprintf(out, " %8" PRId32 " %20s %7s  ", t->row.thread, "not counted", "-");
        text_write_plain(out, t->name != NULL ? t->name : "");
        (void)fputc('\n', out);
    }
}

static void print_sum(FILE *out, const struct rank_sum *s, double all)
{
    print_rank_name(out, s->rank);
    (void)fprintf(out, " %8" PRIu64 " %20" PRIu64 " %6.1f%%", s->threads, s->instructions,
                  100 * (double)s->instructions / all);
    if (s->uncounted > 0)
        (void)fprintf(out, "  without %" PRIu64 " that were not counted", s->uncounted);
    (void)fputc('\n', out);
}

/* Prints the ranks, those with the most instructions first; if there are many, both ends. */
static void print_sums(FILE *out, struct rank_sum *sums, size_t n, double total, bool all)
{
    qsort(sums, n, sizeof *sums, by_instructions);
    for (size_t i = 0; i < n; i++) {
        if (all || n <= RANKS_SHOWN || i < RANKS_EXTREME || i >= n - RANKS_EXTREME)
            print_sum(out, &sums[i], total);
        else if (i == RANKS_EXTREME)
            (void)fprintf(out, "  ... %zu more ranks that lie between (-all shows them)\n",
                          n - (size_t)2 * RANKS_EXTREME);
    }
}

static size_t sum_up(const struct report *r, struct rank_sum *sums, uint64_t *threads)
{
    size_t n = 0;
    *threads = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->error != NULL)
            continue;
        struct rank_sum *s = &sums[n++];
        *s = (struct rank_sum){.rank = k, .threads = k->thread_count};
        for (size_t t = 0; t < k->thread_count; t++) {
            s->instructions += k->threads[t].row.instructions;
            s->uncounted += k->threads[t].row.instructions == 0;
        }
        *threads += s->threads;
    }
    return n;
}

void report_instructions_print(FILE *out, const struct report *r, bool all)
{
    bool counted = false;
    uint64_t threads, total = 0, uncounted = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        counted |= r->ranks[i].is_counting_run;
    struct rank_sum *sums =
        counted ? report_room(r->rank_count + 1, sizeof *sums, "instructions") : NULL;
    if (sums == NULL)
        return;
    size_t n = sum_up(r, sums, &threads);
    for (size_t i = 0; i < n; i++) {
        total += sums[i].instructions;
        uncounted += sums[i].uncounted;
    }
    bool each = all || threads <= THREADS_SHOWN;
    (void)fputs("\nInstructions in user mode, from each thread's start to its end\n", out);
    (void)fprintf(out, "  %-16s %8s %20s %7s%s\n", "rank", each ? "thread" : "threads",
                  "instructions", "share", each ? "  name" : "");
    double whole = total > 0 ? (double)total : 1.0;
    for (size_t i = 0; i < n && each; i++)
        print_threads(out, sums[i].rank, whole);
    if (!each)
        print_sums(out, sums, n, whole, all);
    (void)fprintf(out, "  %-16s %8" PRIu64 " %20" PRIu64 "\n", "all", threads, total);
    if (uncounted > 0)
        (void)fprintf(out,
                      "  without %" PRIu64
                      " threads that were not counted: they were killed, did not "
                      "end, or had no counter\n",
                      uncounted);
    free(sums);
}
