/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the windows for people: each one, or condensed by chain and kind if there are many. */
#include "tools/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS_SHOWN 24

/* Windows of one chain and kind, over all ranks. */
struct window_group {
    int32_t chain;
    uint16_t kind;
    uint64_t rows, firing, truncated, open, late, ranks;
    double sum_ns, least_ns, most_ns;
    int64_t first_ns, last_ns;
};

static void alarm_text(char out[160], const struct report_rank *k, int32_t alarm,
                       const char *otherwise)
{
    const char *text = report_alarm_text(k, alarm);
    (void)snprintf(out, 160, "%s", text != NULL ? text : otherwise);
}

static void icount_text(char out[48], int64_t requested, int64_t actual)
{
    if (requested == RT_NULL && actual == RT_NULL)
        (void)snprintf(out, 48, "-");
    else if (requested == RT_NULL)
        (void)snprintf(out, 48, "%" PRId64, actual);
    else if (actual == RT_NULL)
        (void)snprintf(out, 48, "%" PRId64 "/?", requested);
    else
        (void)snprintf(out, 48, "%" PRId64 "/%" PRId64, requested, actual);
}

static void region_text(char out[160], const struct report_window *w)
{
    int n = 0;
    out[0] = '\0';
    if (w->region == NULL || w->region[0] == '\0')
        return;
    n = snprintf(out, 160, ", region %.60s", w->region);
    if (w->row.weight > 0)
        n += snprintf(out + n, 160 - (size_t)n, " weight %g", w->row.weight);
    if (w->row.multiplier > 0)
        (void)snprintf(out + n, 160 - (size_t)n, " multiplier %g", w->row.multiplier);
}

/* rank_width: of the column with the names of processes. */
static void print_window(FILE *out, const struct report_rank *k, const struct report_window *w,
                         int rank_width)
{
    char rank[48];
    char opened[160], closed[160], length[24] = "open", icount[48], region[160];
    alarm_text(opened, k, w->row.start_alarm, w->opened_by != NULL ? w->opened_by : "?");
    alarm_text(closed, k, w->row.stop_alarm, report_window_reason(w->row.reason));
    if (w->has_stop)
        (void)report_time_text(length, (double)(w->stop_ns - w->start_ns));
    icount_text(icount, w->row.start_requested, w->row.start_icount);
    region_text(region, w);
    report_rank_name(rank, k);
    (void)fprintf(out, "  %*s %6" PRId32 " %7" PRId32 " %-7s %14.6f %11s %10s  %s -> %s%s%s%s\n",
                  rank_width, rank, w->row.thread, w->row.ordinal, report_window_kind(w->row.kind),
                  (double)w->start_ns / 1e6, length, icount, opened, closed,
                  w->row.truncated == RT_END_CUT ? " (truncated)" : "",
                  w->row.bcast && !w->row.firing ? " (bcast)" : "", region);
}

static struct window_group *group_of(struct window_group **groups, size_t *n,
                                     const struct rt_window *row)
{
    for (size_t i = 0; i < *n; i++)
        if ((*groups)[i].chain == row->chain && (*groups)[i].kind == row->kind)
            return &(*groups)[i];
    struct window_group *more = realloc(*groups, (*n + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    *groups = more;
    more += (*n)++;
    *more = (struct window_group){.chain = row->chain, .kind = row->kind, .least_ns = -1};
    return more;
}

static void add_window(struct window_group *g, const struct report_window *w)
{
    double ns = (double)(w->stop_ns - w->start_ns);
    if (g->rows++ == 0 || w->start_ns < g->first_ns)
        g->first_ns = w->start_ns;
    if (w->start_ns > g->last_ns)
        g->last_ns = w->start_ns;
    g->firing += w->row.firing != 0;
    g->truncated += w->row.truncated == RT_END_CUT;
    g->late += w->row.start_late != 0 || w->row.stop_late != 0;
    if (!w->has_stop) {
        g->open++;
        return;
    }
    g->sum_ns += ns;
    g->most_ns = ns > g->most_ns ? ns : g->most_ns;
    g->least_ns = g->least_ns < 0 || ns < g->least_ns ? ns : g->least_ns;
}

static void print_group(FILE *out, const struct report *r, const struct window_group *g)
{
    char mean[24], least[24], most[24];
    uint64_t closed = g->rows - g->open;
    const char *chain =
        g->chain >= 0 && (size_t)g->chain < r->chain_count ? r->chains[g->chain] : "no chain";
    (void)fprintf(out,
                  "  %8" PRIu64 " %8" PRIu64 " %-7s %11s %11s %11s %9" PRIu64 " %6" PRIu64
                  " %5" PRIu64 "  %s\n",
                  g->rows, g->firing, report_window_kind(g->kind),
                  closed > 0 ? report_time_text(mean, g->sum_ns / (double)closed) : "-",
                  closed > 0 ? report_time_text(least, g->least_ns) : "-",
                  closed > 0 ? report_time_text(most, g->most_ns) : "-", g->truncated, g->open,
                  g->late, chain);
}

static void print_groups(FILE *out, const struct report *r, uint64_t total)
{
    struct window_group *groups = NULL;
    size_t n = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        for (size_t w = 0; w < r->ranks[i].window_count; w++) {
            struct window_group *g = group_of(&groups, &n, &r->ranks[i].windows[w].row);
            if (g != NULL)
                add_window(g, &r->ranks[i].windows[w]);
        }
    (void)fprintf(
        out,
        "\nWindows: %" PRIu64
        ", condensed by chain (-all shows each; firing: opened by the thread's own alarm)\n",
        total);
    (void)fprintf(out, "  %8s %8s %-7s %11s %11s %11s %9s %6s %5s  %s\n", "windows", "firing",
                  "kind", "mean", "shortest", "longest", "truncated", "open", "late", "chain");
    for (size_t i = 0; i < n; i++)
        print_group(out, r, &groups[i]);
    free(groups);
}

static bool is_counting_run(const struct report *r)
{
    bool counting = false;
    for (size_t i = 0; i < r->rank_count; i++)
        counting |= r->chain_count == 0 && r->ranks[i].is_counting_run;
    return counting;
}

void report_print_windows(FILE *out, const struct report *r, bool all)
{
    uint64_t total = 0;
    int rank_width = 5;
    for (size_t i = 0; i < r->rank_count; i++) {
        char rank[48];
        report_rank_name(rank, &r->ranks[i]);
        if (r->ranks[i].window_count > 0 && (int)strlen(rank) > rank_width)
            rank_width = (int)strlen(rank);
        total += r->ranks[i].window_count;
    }
    if (total == 0) {
        (void)fprintf(out, "\nNo window opened%s.\n",
                      is_counting_run(r) ? ": a counting run needs none" : "");
        return;
    }
    if (total > WINDOWS_SHOWN && !all) {
        print_groups(out, r, total);
        return;
    }
    (void)fprintf(out,
                  "\nWindows: %" PRIu64
                  " (start in ms since the first thread of the run; icount: requested/reached)\n",
                  total);
    (void)fprintf(out, "  %*s %6s %7s %-7s %14s %11s %10s  %s\n", rank_width, "rank", "thread",
                  "ordinal", "kind", "start", "length", "icount", "opened by -> closed by");
    for (size_t i = 0; i < r->rank_count; i++)
        for (size_t w = 0; w < r->ranks[i].window_count; w++)
            print_window(out, &r->ranks[i], &r->ranks[i].windows[w], rank_width);
}
