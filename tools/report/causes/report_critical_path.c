/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the critical path: `regtrace report --critical-path`. */
#include "tools/report/report.h"
#include "tools/report/causes/report_causes.h"

#include <inttypes.h>
#include <stdlib.h>

#define RANKS_SHOWN 10
#define WINDOWS_SHOWN 20

/* Returns by how much the activity is longer on the path than on the mean of all ranks. */
static double imbalance(const struct critical_activity *a)
{
    return a->path_ns > a->mean_ns ? a->path_ns - a->mean_ns : 0;
}

static double share(const struct critical_path *p, double ns)
{
    return p->length_ns > 0 ? 100 * ns / p->length_ns : 0;
}

static int by_path(const void *a, const void *b, void *activities)
{
    const struct critical_activity *all = activities;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (all[x].path_ns > all[y].path_ns || all[x].path_ns < all[y].path_ns)
        return all[x].path_ns > all[y].path_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int by_time(const void *a, const void *b, void *ranks)
{
    const double *all = ranks;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (all[x] > all[y] || all[x] < all[y])
        return all[x] > all[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Returns the activities on the path, the longest first. */
static uint32_t *sorted_activities(const struct critical_path *p, size_t *count)
{
    uint32_t *order = report_room(p->activity_count + 1u, sizeof *order, "activities");
    *count = 0;
    for (uint32_t i = 0; order != NULL && i < p->activity_count; i++)
        if (p->activities[i].path_ns > 0)
            order[(*count)++] = i;
    if (order != NULL)
        qsort_r(order, *count, sizeof *order, by_path, p->activities);
    return order;
}

/* Returns the ranks on the path, the one with most time first. */
static uint32_t *sorted_ranks(const struct critical_path *p, size_t *count)
{
    uint32_t *order = report_room(p->rank_count + 1u, sizeof *order, "ranks");
    *count = 0;
    for (uint32_t i = 0; order != NULL && i < p->rank_count; i++)
        if (p->ranks[i] > 0)
            order[(*count)++] = i;
    if (order != NULL)
        qsort_r(order, *count, sizeof *order, by_time, p->ranks);
    return order;
}

static size_t partial_windows(const struct critical_path *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->window_count; i++)
        n += p->windows[i].is_partial;
    return n;
}

void report_critical_path_summary(FILE *out, const struct report_causes *c)
{
    const struct critical_path *p = &c->path;
    char length[24];
    size_t count;
    uint32_t *ranks = p->length_ns > 0 ? sorted_ranks(p, &count) : NULL;
    if (ranks != NULL && count > 0)
        (void)fprintf(out,
                      "\nCritical path: %s long, in windows between MPI_Init and MPI_Finalize; "
                      "rank %" PRIu32 " has %.1f%% of it (--critical-path shows it)\n",
                      report_time_text(length, p->length_ns), ranks[0],
                      share(p, p->ranks[ranks[0]]));
    free(ranks);
}

static void print_activities(FILE *out, struct report *r, const struct report_causes *c,
                             const struct place_names *names, size_t top)
{
    const struct critical_path *p = &c->path;
    size_t count;
    uint32_t *order = sorted_activities(p, &count);
    (void)fprintf(out, "\n  %11s %6s %11s %11s  %s\n", "on the path", "share", "mean/rank",
                  "imbalance", "activity");
    for (size_t i = 0; order != NULL && i < count && (top == 0 || i < top); i++) {
        const struct critical_activity *a = &p->activities[order[i]];
        char path[24], mean[24], uneven[24];
        (void)fprintf(out, "  %11s %5.1f%% %11s %11s  ", report_time_text(path, a->path_ns),
                      share(p, a->path_ns), report_time_text(mean, a->mean_ns),
                      report_time_text(uneven, imbalance(a)));
        report_activity_print(out, r, c, names, order[i]);
        (void)fputc('\n', out);
    }
    if (top != 0 && count > top)
        (void)fprintf(out, "  ... %zu more (-top 0 shows all)\n", count - top);
    free(order);
}

static void print_ranks(FILE *out, const struct critical_path *p, bool all)
{
    size_t count;
    uint32_t *order = sorted_ranks(p, &count);
    (void)fprintf(out, "\n  %6s %11s %6s\n", "rank", "on the path", "share");
    for (size_t i = 0; order != NULL && i < count && (all || i < RANKS_SHOWN); i++) {
        char path[24];
        (void)fprintf(out, "  %6" PRIu32 " %11s %5.1f%%\n", order[i],
                      report_time_text(path, p->ranks[order[i]]), share(p, p->ranks[order[i]]));
    }
    if (!all && count > RANKS_SHOWN)
        (void)fprintf(out, "  ... %zu more ranks (-all shows them)\n", count - RANKS_SHOWN);
    free(order);
}

static void print_windows(FILE *out, const struct critical_path *p, bool all)
{
    size_t shown = 0;
    (void)fprintf(out, "\n  %8s %11s %10s %6s %6s\n", "window", "length", "crossings", "rank",
                  "share");
    for (size_t i = 0; i < p->window_count && (all || shown < WINDOWS_SHOWN); i++) {
        const struct critical_window *w = &p->windows[i];
        char length[24], ordinals[32];
        double ns = (double)(w->end - w->begin);
        if (w->is_partial)
            continue;
        shown++;
        if (w->ordinal == w->last_ordinal)
            (void)snprintf(ordinals, sizeof ordinals, "%" PRId32, w->ordinal);
        else
            (void)snprintf(ordinals, sizeof ordinals, "%" PRId32 "-%" PRId32, w->ordinal,
                           w->last_ordinal);
        (void)fprintf(out, "  %8s %11s %10" PRIu64 " %6" PRId32 " %5.1f%%%s\n", ordinals,
                      report_time_text(length, ns), w->crossings, w->longest_rank,
                      ns > 0 ? 100 * w->longest_ns / ns : 0.0,
                      w->has_gaps ? "  events were dropped" : "");
    }
    if (p->window_count - partial_windows(p) > shown)
        (void)fprintf(out, "  ... %zu more windows (-all shows them)\n",
                      p->window_count - partial_windows(p) - shown);
}

void report_critical_path_print(FILE *out, struct report *r, const struct report_causes *c,
                                const struct place_names *names, size_t top, bool all)
{
    const struct critical_path *p = &c->path;
    size_t partial = partial_windows(p);
    uint64_t broken = 0;
    bool overlap = false;
    char length[24];
    for (size_t i = 0; i < p->window_count; i++) {
        broken += p->windows[i].broken;
        overlap |= p->windows[i].ordinal != p->windows[i].last_ordinal;
    }
    (void)fprintf(out, "%s\n", r->dir);
    if (p->length_ns > 0) {
        (void)fprintf(
            out,
            "Critical path of the main threads in windows between MPI_Init and MPI_Finalize: "
            "%s\n(mean: time of all ranks in that activity, without waiting; imbalance: how "
            "much longer it is on the path)\n",
            report_time_text(length, p->length_ns));
        print_activities(out, r, c, names, top);
        print_ranks(out, p, all);
        if (p->window_count - partial > 1 || overlap)
            print_windows(out, p, all);
        if (overlap)
            (void)fputs("Windows of different ranks overlap in time: those that do are one phase, "
                        "and what a rank does\nbetween its windows is an activity.\n",
                        out);
    } else {
        (void)fputs("No critical path is known: no window of all ranks has ended between MPI_Init "
                    "and MPI_Finalize; record windows there.\n",
                    out);
    }
    if (partial > 0)
        (void)fprintf(out, "Not all ranks have %zu of the windows, which are left out.\n", partial);
    if (broken > 0)
        (void)fprintf(out,
                      "The path is broken at %" PRIu64 " waits for calls in other windows or of "
                      "other threads: it stays on the rank that waits.\n",
                      broken);
    addresses_print_lacks(out, &r->addresses);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void json_windows(struct json *j, const struct critical_path *p, int64_t origin)
{
    json_array_begin(j, "windows");
    for (size_t i = 0; i < p->window_count; i++) {
        const struct critical_window *w = &p->windows[i];
        json_object_begin(j, NULL);
        json_compact(j);
        json_int(j, "ordinal", w->ordinal);
        json_int(j, "last_ordinal", w->last_ordinal);
        json_uint(j, "processes", w->processes);
        json_bool(j, "partial", w->is_partial);
        if (!w->is_partial) {
            json_int(j, "start_ns", w->begin - origin);
            json_int(j, "stop_ns", w->end - origin);
            json_uint(j, "crossings", w->crossings);
            json_uint(j, "broken", w->broken);
            json_int(j, "rank", w->longest_rank);
            json_real(j, "rank_ns", w->longest_ns);
            json_bool(j, "dropped", w->has_gaps);
        }
        json_object_end(j);
    }
    json_array_end(j);
}

void report_critical_path_json(struct json *j, struct report *r, const struct report_causes *c,
                               const struct place_names *names)
{
    const struct critical_path *p = &c->path;
    size_t count;
    uint32_t *order = sorted_activities(p, &count);
    json_object_begin(j, "critical_path");
    json_real(j, "length_ns", p->length_ns);
    json_array_begin(j, "activities");
    for (size_t i = 0; order != NULL && i < count; i++) {
        const struct critical_activity *a = &p->activities[order[i]];
        json_object_begin(j, NULL);
        json_compact(j);
        json_real(j, "path_ns", a->path_ns);
        json_real(j, "mean_ns", a->mean_ns);
        json_real(j, "imbalance_ns", imbalance(a));
        report_moment_json(j, &a->longest, r->origin_ns);
        report_activity_json(j, r, c, names, order[i]);
        json_object_end(j);
    }
    json_array_end(j);
    json_array_begin(j, "ranks");
    for (uint32_t i = 0; i < p->rank_count; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_uint(j, "rank", i);
        json_real(j, "path_ns", p->ranks[i]);
        json_object_end(j);
    }
    json_array_end(j);
    json_windows(j, p, r->origin_ns);
    json_object_end(j);
    free(order);
}
