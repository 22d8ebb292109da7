/* SPDX-License-Identifier: BSD-3-Clause
 * Adds up a run by what was called and by window, from the pieces of its report. */
#include "tools/diff/tally.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adds to a row in a window. Returns 0 or -ENOMEM. */
static int add(struct tally *t, uint64_t high, uint64_t low, int32_t window,
               const struct tally_values *v)
{
    if (window < 0) /* outside of windows: no window to compare it in */
        return 0;
    uint32_t row = key_table_add(&t->rows, high, low), count = t->cells.count;
    uint32_t cell =
        row != KEY_NONE ? key_table_add(&t->cells, row, (uint64_t)(uint32_t)window) : KEY_NONE;
    void *values = array_grown(t->values, count, &t->value_room, sizeof *t->values);
    if (cell == KEY_NONE || values == NULL)
        return -ENOMEM;
    t->values = values;
    if (cell == count)
        t->values[cell] = (struct tally_values){{0}};
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        t->values[cell].of[q] += v->of[q];
    return 0;
}

static uint64_t high_of(enum diff_table table, uint32_t kind, uint32_t number)
{
    return (uint64_t)table << 32 | (uint64_t)kind << 16 | number;
}

static int add_total(struct tally *t, enum diff_total total, int32_t window, double ns,
                     double count, double bytes)
{
    const struct tally_values v = {{ns, count, bytes}};
    return add(t, high_of(DIFF_TOTALS, 0, total), 0, window, &v);
}

static int add_call(struct tally *t, const struct report_piece *p)
{
    const struct tally_values v = {{p->ns, 1, (double)p->amount}};
    int rc = add(t, high_of(DIFF_MPI, 0, p->function), 0, p->window, &v);
    return rc == 0 ? add(t, high_of(DIFF_PATHS, 0, p->function), p->path, p->window, &v) : rc;
}

static int add_wait(struct tally *t, const struct report_piece *p)
{
    const struct tally_values v = {{p->ns, 1, 0}};
    int rc = add(t, high_of(DIFF_WAITS, p->wait_kind, p->function), p->path, p->window, &v);
    if (rc == 0)
        rc = add(t, high_of(DIFF_LATE, p->wait_kind, p->late), p->late_path, p->window, &v);
    return rc == 0 ? add_total(t, TOTAL_WAITS, p->window, p->ns, 1, 0) : rc;
}

static int add_count(struct tally *t, const struct report_piece *p)
{
    const struct tally_values v = {{0, (double)p->amount, 0}};
    size_t i = 0;
    while (i < t->counter_count && strcmp(t->counters[i], p->name) != 0)
        i++;
    if (i > UINT16_MAX) /* a damaged file */
        return 0;
    if (i == t->counter_count) {
        void *more = array_grown(t->counters, i, &t->counter_room, sizeof *t->counters);
        if (more == NULL)
            return -ENOMEM;
        t->counters = more;
        if ((t->counters[i] = strdup(p->name)) == NULL)
            return -ENOMEM;
        t->counter_count++;
    }
    return add(t, high_of(DIFF_COUNTERS, 0, (uint32_t)i), 0, p->window, &v);
}

static int take(void *context, const struct report_piece *p)
{
    struct tally *t = context;
    const struct tally_values v = {{p->ns, 1, 0}};
    switch (p->kind) {
    case PIECE_MPI: return add_call(t, p);
    case PIECE_FUNCTION: return add(t, high_of(DIFF_FUNCTIONS, 0, 0), p->item, p->window, &v);
    case PIECE_COUNTER: return add_count(t, p);
    case PIECE_WAIT: return add_wait(t, p);
    case PIECE_SAMPLE:
        return add(t, high_of(DIFF_SAMPLES, 0, 0), p->item, p->window,
                   &(struct tally_values){{0, (double)p->amount, 0}});
    }
    return 0;
}

/* --- windows ---------------------------------------------------------------------------------- */

static int by_ordinal(const void *a, const void *b)
{
    const struct tally_window *x = a, *y = b;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* Adds the windows of a rank: its threads' rows of one ordinal are one window. */
static int add_windows(struct tally *t, const struct report_rank *k)
{
    for (size_t i = 0; i < k->window_count; i++) {
        const struct report_window *w = &k->windows[i];
        bool cut = !w->has_stop || w->row.truncated == RT_END_CUT;
        double ns = w->has_stop ? (double)(w->stop_ns - w->start_ns) : 0;
        char *region = strdup(w->region != NULL ? w->region : "");
        if (region == NULL)
            return -ENOMEM;
        t->windows[t->window_count++] = (struct tally_window){w->row.ordinal, 1, cut, region};
        int rc = add_total(t, TOTAL_WINDOW, w->row.ordinal, ns, 1, 0);
        if (rc == 0)
            rc = add_total(t, TOTAL_OUTSIDE, w->row.ordinal, ns - w->mpi_ns, 0, 0);
        if (rc == 0)
            rc = add_total(t, TOTAL_MPI, w->row.ordinal, w->mpi_ns, (double)w->calls,
                           (double)w->bytes);
        if (rc != 0)
            return rc;
    }
    t->processes += k->window_count > 0;
    return 0;
}

/* Sorts the rows, and makes one of those with the same ordinal. Returns how many are left. */
static size_t merge(struct tally_window *rows, size_t count, bool of_one_rank)
{
    size_t kept = 0;
    if (count > 1)
        qsort(rows, count, sizeof *rows, by_ordinal);
    for (size_t i = 0; i < count; i++) {
        struct tally_window *last = kept > 0 ? &rows[kept - 1] : NULL;
        if (last == NULL || last->ordinal != rows[i].ordinal) {
            rows[kept++] = rows[i];
            continue;
        }
        last->ranks += of_one_rank ? 0 : rows[i].ranks;
        last->is_cut |= rows[i].is_cut;
        free(rows[i].region);
    }
    return kept;
}

static int collect_windows(struct tally *t)
{
    size_t room = 1;
    int rc = 0;
    for (size_t i = 0; i < t->report.rank_count; i++)
        room += t->report.ranks[i].window_count;
    t->windows = calloc(room, sizeof *t->windows);
    for (size_t i = 0; t->windows != NULL && rc == 0 && i < t->report.rank_count; i++) {
        size_t first = t->window_count;
        rc = add_windows(t, &t->report.ranks[i]);
        t->window_count = first + merge(t->windows + first, t->window_count - first, true);
    }
    t->window_count = merge(t->windows, t->window_count, false);
    return t->windows != NULL ? rc : -ENOMEM;
}

/* --- a run ------------------------------------------------------------------------------------ */

int tally_collect(struct tally *t, const struct rt_run *run, const struct rank_list *ranks,
                  const struct window_span *windows)
{
    struct rt_error e = {{0}};
    const struct report_observer observer = {take, t};
    struct report *r = &t->report;
    int rc = report_collect_observed(r, run, ranks, windows, &observer, &e);
    if (rc == 0) {
        report_collect_waits(r, run, ranks, 2);
        size_t count;
        if (r->waits != NULL)
            (void)report_ideal_windows(r, &count, &t->why_no_waits);
        rc = collect_windows(t);
    }
    for (size_t i = 0; i < r->rank_count; i++)
        t->lost += r->ranks[i].lost_events;
    r->observer = NULL;
    if (rc != 0)
        tool_error("diff", "%s", e.text[0] != '\0' ? e.text : "no memory");
    for (size_t i = 0; rc == 0 && i < r->rank_count; i++)
        if (r->ranks[i].error != NULL)
            tool_error("diff", "%s: %s", r->ranks[i].file, r->ranks[i].error);
    return rc;
}

void tally_free(struct tally *t)
{
    for (size_t i = 0; i < t->counter_count; i++)
        free(t->counters[i]);
    for (size_t i = 0; i < t->window_count; i++)
        free(t->windows[i].region);
    free(t->counters);
    free(t->windows);
    free(t->values);
    key_table_free(&t->rows);
    key_table_free(&t->cells);
    report_free(&t->report);
    *t = (struct tally){0};
}
