/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the profile of MPI calls of a rank file (REGTRACE_MODE=profile), and prints how long calls
 * took. The profile is of the whole run, so it replaces what events say of calls. */
#include "tools/report/report_profile.h"

#include "tools/report/calls/path_places.h"
#include "tools/report/report.h"

#include "base/format/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool report_has_profile(const struct report *r, const struct rt_rank *rank)
{
    return !r->windows.given && rt_rank_tables(rank)->mpi_profile_count > 0;
}

static int make_times(struct report_profile *p)
{
    if (p->functions == NULL)
        p->functions = calloc(REPORT_FUNCTIONS, sizeof *p->functions);
    return p->functions != NULL ? 0 : -ENOMEM;
}

static void add_times(struct report_times *to, const struct rt_rank *rank,
                      const struct rt_mpi_profile *row)
{
    const double least = rt_rank_span_ns(rank, row->min_ticks),
                 most = rt_rank_span_ns(rank, row->max_ticks);
    to->min_ns = to->calls == 0 || least < to->min_ns ? least : to->min_ns;
    to->max_ns = to->calls == 0 || most > to->max_ns ? most : to->max_ns;
    to->calls += row->calls;
    to->total_ns += rt_rank_span_ns(rank, row->ticks);
}

/* Adds the calls of one power of two. Ticks of other nodes may be a little longer: the longest
 * bound holds for all. */
static void add_power(struct report_times *to, const struct rt_rank *rank,
                      const struct rt_mpi_profile_time *row)
{
    const double below = rt_rank_span_ns(rank, UINT64_C(2) << row->power);
    to->powers[row->power].calls += row->calls;
    if (below > to->powers[row->power].below_ns)
        to->powers[row->power].below_ns = below;
}

/* Adds the calls of one row to all sums of the rank and the run. Calls within other calls count as
 * calls, but have no time of their own: it is in that of the outer call. */
static int take_row(struct report *r, struct report_rank *k, const struct rt_rank *rank,
                    const struct rt_mpi_profile *row, struct path_places *places)
{
    const uint32_t f = EVENT_MPI_FUNCTION(row->code);
    const double ns = rt_rank_span_ns(rank, row->ticks);
    report_name_function(r, rank, row->code);
    k->functions[f].calls += row->calls;
    if (row->nested != 0) {
        k->functions[f].nested += row->calls;
        return 0;
    }
    k->functions[f].time_ns += ns;
    k->functions[f].bytes += row->bytes;
    k->mpi_ns += ns;
    k->calls += row->calls;
    k->bytes += row->bytes;
    struct report_thread *thread = report_find_thread(k, row->thread);
    if (thread != NULL) {
        thread->calls += row->calls;
        thread->mpi_ns += ns;
    }
    if (!rank_list_has(r->rank_list, k->info.rank))
        return 0;
    struct report_profile *p = &r->profile;
    p->calls += row->calls;
    p->entries++;
    add_times(&p->functions[f], rank, row);
    struct path_place at;
    int rc = path_places_find(places, r, rank, row->path, &at);
    if (rc == 0)
        rc = call_sites_add_calls(&r->call_sites, k->info.rank, f, at.item, row->calls, ns,
                                  row->bytes);
    return rc == 0 ? call_tree_add_calls(&r->call_tree, at.node, f, row->calls, ns, row->bytes)
                   : rc;
}

/* Removes what events have said of calls, in windows. */
static void forget_events(struct report_rank *k)
{
    memset(k->functions, 0, REPORT_FUNCTIONS * sizeof *k->functions);
    k->calls = k->bytes = 0;
    k->mpi_ns = 0;
    for (size_t i = 0; i < k->thread_count; i++) {
        k->threads[i].calls = 0;
        k->threads[i].mpi_ns = 0;
    }
}

int report_profile_take(struct report *r, struct report_rank *k, const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    struct path_places places = {0};
    int rc = make_times(&r->profile);
    if (rc != 0)
        return rc;
    k->has_profile = true;
    forget_events(k);
    for (size_t i = 0; i < t->mpi_profile_count && rc == 0; i++) {
        const struct rt_mpi_profile *row = &t->mpi_profile[i];
        if (EVENT_IS_MPI_ENTER(row->code))
            rc = take_row(r, k, rank, row, &places);
        else if (rank_list_has(r->rank_list, k->info.rank))
            r->profile.lost += row->calls;
    }
    path_places_free(&places);
    for (size_t i = 0; i < t->mpi_profile_time_count && rc == 0; i++) {
        const struct rt_mpi_profile_time *row = &t->mpi_profile_times[i];
        if (row->row >= t->mpi_profile_count || row->power >= REPORT_POWERS)
            continue; /* a damaged file */
        const struct rt_mpi_profile *of = &t->mpi_profile[row->row];
        if (EVENT_IS_MPI_ENTER(of->code) && of->nested == 0 &&
            rank_list_has(r->rank_list, k->info.rank))
            add_power(&r->profile.functions[EVENT_MPI_FUNCTION(of->code)], rank, row);
    }
    return rc;
}

void report_profile_free(struct report_profile *p)
{
    free(p->functions);
    *p = (struct report_profile){0};
}

/* Returns a bound below which that share of the calls took: by the powers of two, so at most twice
 * the exact time; never above the longest call. */
static double bound_of(const struct report_times *t, double share)
{
    uint64_t all = 0, sum = 0;
    for (unsigned i = 0; i < REPORT_POWERS; i++)
        all += t->powers[i].calls;
    for (unsigned i = 0; i < REPORT_POWERS; i++) {
        sum += t->powers[i].calls;
        if (sum > 0 && (double)sum >= share * (double)all)
            return t->powers[i].below_ns < t->max_ns ? t->powers[i].below_ns : t->max_ns;
    }
    return t->max_ns;
}

static int by_total(const void *a, const void *b, void *profile)
{
    const struct report_profile *p = profile;
    const double x = p->functions[*(const int *)a].total_ns,
                 y = p->functions[*(const int *)b].total_ns;
    return x > y ? -1 : x < y ? 1 : *(const int *)a - *(const int *)b;
}

/* Sorts the functions that were called, by time. Returns their number. */
static size_t sorted(const struct report_profile *p, int order[REPORT_FUNCTIONS])
{
    size_t n = 0;
    for (int f = 0; f < REPORT_FUNCTIONS && p->functions != NULL; f++)
        if (p->functions[f].calls > 0)
            order[n++] = f;
    qsort_r(order, n, sizeof *order, by_total, (void *)(uintptr_t)p);
    return n;
}

void report_profile_print(FILE *out, const struct report *r, size_t top)
{
    const struct report_profile *p = &r->profile;
    int order[REPORT_FUNCTIONS];
    size_t n = sorted(p, order);
    if (n == 0)
        return;
    (void)fputs("\nTime of one call, outermost calls of all ranks (50 %, 99 %: so many calls took "
                "less; bounds are powers of two of clock ticks)\n",
                out);
    (void)fprintf(out, "  %-28s %12s %11s %11s %11s %11s %11s\n", "function", "calls", "mean",
                  "shortest", "50 %", "99 %", "longest");
    for (size_t i = 0; i < n && (top == 0 || i < top); i++) {
        const struct report_times *t = &p->functions[order[i]];
        char mean[24], least[24], half[24], most_of[24], most[24];
        (void)fprintf(out, "  %-28s %12" PRIu64 " %11s %11s %11s %11s %11s\n", r->names[order[i]],
                      t->calls, report_time_text(mean, t->total_ns / (double)t->calls),
                      report_time_text(least, t->min_ns), report_time_text(half, bound_of(t, 0.5)),
                      report_time_text(most_of, bound_of(t, 0.99)),
                      report_time_text(most, t->max_ns));
    }
    if (top != 0 && n > top)
        (void)fprintf(out, "  ... %zu more functions (-top 0 shows all)\n", n - top);
}

static void write_function(struct json *j, const char *name, const struct report_times *t)
{
    json_object_begin(j, NULL);
    json_compact(j);
    json_text(j, "name", name);
    json_uint(j, "calls", t->calls);
    json_real(j, "time_ns", t->total_ns);
    json_real(j, "min_ns", t->min_ns);
    json_real(j, "max_ns", t->max_ns);
    json_array_begin(j, "times");
    for (unsigned i = 0; i < REPORT_POWERS; i++) {
        if (t->powers[i].calls == 0)
            continue;
        json_object_begin(j, NULL);
        json_real(j, "below_ns", t->powers[i].below_ns);
        json_uint(j, "calls", t->powers[i].calls);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

void report_profile_json(struct json *j, const struct report *r)
{
    const struct report_profile *p = &r->profile;
    int order[REPORT_FUNCTIONS];
    size_t n = sorted(p, order);
    if (p->functions == NULL) {
        json_null(j, "profile");
        return;
    }
    json_object_begin(j, "profile");
    json_uint(j, "calls", p->calls);
    json_uint(j, "lost", p->lost);
    json_uint(j, "entries", p->entries);
    json_array_begin(j, "functions");
    for (size_t i = 0; i < n; i++)
        write_function(j, r->names[order[i]], &p->functions[order[i]]);
    json_array_end(j);
    json_object_end(j);
}
