/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the time in MPI by function, and how it spreads over ranks. */
#include "tools/report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void report_name_function(struct report *r, const struct rt_rank *rank, uint32_t code)
{
    const uint32_t f = EVENT_MPI_FUNCTION(code);
    if (r->names[f] == NULL)
        r->names[f] = strdup(rt_rank_function(rank, code, NULL));
}

const char *report_mpi_name(const struct report *r, uint32_t function)
{
    return function < REPORT_FUNCTIONS && r->names[function] != NULL ? r->names[function] : "?";
}

bool report_spread_of(const struct report *r, int f, struct report_spread *out)
{
    unsigned ranks = 0;
    *out = (struct report_spread){.max = NULL};
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->error != NULL || (!k->info.is_main && k->calls == 0))
            continue;
        double ns = f < 0 ? k->mpi_ns : k->functions[f].time_ns;
        ranks++;
        out->calls += f < 0 ? k->calls : k->functions[f].calls;
        out->nested += f < 0 ? 0 : k->functions[f].nested;
        out->bytes += f < 0 ? k->bytes : k->functions[f].bytes;
        out->total_ns += ns;
        if (out->max == NULL || ns > out->max_ns) {
            out->max_ns = ns;
            out->max = k;
        }
    }
    out->mean_ns = ranks > 0 ? out->total_ns / ranks : 0;
    return out->calls > 0;
}

const char *report_why_no_call(const struct report *r)
{
    size_t windows = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        windows += r->ranks[i].window_count;
    return windows == 0 ? "no window opened; `regtrace report` shows its chains and alarms"
                        : "the program called no MPI in windows; regtrace run -sample cpu:10ms, "
                          "and `regtrace report --hot --folded`, show programs without MPI, too";
}

static int by_time(const void *a, const void *b, void *report)
{
    struct report_spread x, y;
    (void)report_spread_of(report, *(const int *)a, &x);
    (void)report_spread_of(report, *(const int *)b, &y);
    if (x.total_ns > y.total_ns || x.total_ns < y.total_ns)
        return x.total_ns > y.total_ns ? -1 : 1;
    return x.calls == y.calls ? *(const int *)a - *(const int *)b : x.calls > y.calls ? -1 : 1;
}

static void print_spread(FILE *out, const char *name, const struct report_spread *s, double all_ns)
{
    char total[24], mean[24], most[24], bytes[24], rank[24], imbalance[16] = "-";
    int n = snprintf(rank, sizeof rank, "%" PRId32, s->max->info.rank);
    if (!s->max->info.is_main && s->max->info.world > 1)
        (void)snprintf(rank + n, sizeof rank - (size_t)n, "(w%" PRIu32 ")", s->max->info.world);
    if (s->mean_ns > 0)
        (void)snprintf(imbalance, sizeof imbalance, "%.2f", s->max_ns / s->mean_ns);
    (void)fprintf(out, "  %-28s %10" PRIu64 " %11s %5.1f%% %11s %11s %6s %9s %11s\n", name,
                  s->calls, report_time_text(total, s->total_ns),
                  all_ns > 0 ? 100 * s->total_ns / all_ns : 0.0, report_time_text(mean, s->mean_ns),
                  report_time_text(most, s->max_ns), rank, imbalance,
                  report_bytes_text(bytes, s->bytes));
}

/* Returns true for functions that ask the own process alone, however the library is made. */
static bool is_local_query(const char *name)
{
    static const char *const all[] = {
        "Wtime",       "Wtick",       "Comm_rank",    "Comm_size",         "Comm_remote_size",
        "Initialized", "Finalized",   "Query_thread", "Is_thread_main",    "Comm_get_attr",
        "Group_rank",  "Group_size",  "Get_count",    "Get_count_c",       "Get_elements",
        "Get_version", "Get_address", "Type_size",    "Type_get_extent",   "Comm_test_inter",
        "Comm_group",  "Cart_coords", "Cart_rank",    "Get_processor_name"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strncmp(name, "MPI_", 4) == 0 && strcmp(name + 4, all[i]) == 0)
            return true;
    return false;
}

/* Prints the share of local queries if they are more than 1 % of the time in MPI: so much of it is
 * no communication. `order`: the functions of the report, by time. */
static void print_local(FILE *out, const struct report *r, const int *order, size_t n,
                        double all_ns)
{
    const char *longest = NULL;
    uint64_t calls = 0;
    double ns = 0;
    struct report_spread s;
    for (size_t i = 0; i < n; i++) {
        if (!is_local_query(r->names[order[i]]))
            continue;
        (void)report_spread_of(r, order[i], &s);
        longest = longest != NULL ? longest : r->names[order[i]];
        calls += s.calls;
        ns += s.total_ns;
    }
    if (ns > 0.01 * all_ns)
        (void)fprintf(out,
                      "  %.1f%% of it are local queries, which no other rank delays: %" PRIu64
                      " call%s, most time in %s\n",
                      100 * ns / all_ns, calls, calls == 1 ? "" : "s", longest);
}

static bool has_worlds(const struct report *r)
{
    bool found = false;
    for (size_t i = 0; i < r->rank_count; i++)
        found |= r->ranks[i].error == NULL && r->ranks[i].info.world > 1;
    return found;
}

void report_print_mpi(FILE *out, const struct report *r, size_t top)
{
    int order[REPORT_FUNCTIONS];
    size_t n = 0;
    struct report_spread all, s;
    for (int f = 0; f < REPORT_FUNCTIONS; f++)
        if (r->names[f] != NULL && report_spread_of(r, f, &s))
            order[n++] = f;
    if (n == 0) {
        (void)fputs("\nNo MPI call was recorded.\n", out);
        return;
    }
    (void)report_spread_of(r, -1, &all);
    qsort_r(order, n, sizeof *order, by_time, (void *)(uintptr_t)r);
    (void)fprintf(out,
                  "\nTime in MPI by function (imbalance: longest rank / mean of all ranks%s)\n",
                  has_worlds(r) ? "; 0(w2): rank 0 of world 2" : "");
    (void)fprintf(out, "  %-28s %10s %11s %6s %11s %11s %6s %9s %11s\n", "function", "calls",
                  "total", "share", "mean/rank", "longest", "rank", "imbalance", "bytes");
    for (size_t i = 0; i < n && (top == 0 || i < top); i++) {
        (void)report_spread_of(r, order[i], &s);
        print_spread(out, r->names[order[i]], &s, all.total_ns);
    }
    if (top != 0 && n > top)
        (void)fprintf(out, "  ... %zu more functions (-top 0 shows all)\n", n - top);
    print_spread(out, "all of MPI (outermost calls)", &all, all.total_ns);
    print_local(out, r, order, n, all.total_ns);
}
