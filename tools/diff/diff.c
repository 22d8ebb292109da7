/* SPDX-License-Identifier: BSD-3-Clause
 * Compares two runs: chooses the windows that both have, adds up the rows in them, and judges their
 * differences by how these vary from window to window. */
#include "tools/diff/diff.h"

#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/diff/noise.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- windows ---------------------------------------------------------------------------------- */

static const struct tally_window *find_window(const struct tally *t, int32_t ordinal)
{
    size_t n;
    SEARCH_FIRST(n, t->window_count, t->windows[n].ordinal < ordinal);
    return n < t->window_count && t->windows[n].ordinal == ordinal ? &t->windows[n] : NULL;
}

/* Returns the number of a compared window; d->window_count: it is not compared. */
static size_t number_of(const struct diff *d, int32_t ordinal)
{
    size_t n;
    SEARCH_FIRST(n, d->window_count, d->windows[n] < ordinal);
    return n < d->window_count && d->windows[n] == ordinal ? n : d->window_count;
}

/* Do both runs have the window whole, on the same share of their processes? */
static bool is_comparable(const struct diff *d, int32_t ordinal)
{
    const struct tally_window *w[2];
    for (int run = 0; run < 2; run++)
        if ((w[run] = find_window(&d->run[run], ordinal)) == NULL || w[run]->is_cut)
            return false;
    return (uint64_t)w[0]->ranks * d->run[1].processes ==
           (uint64_t)w[1]->ranks * d->run[0].processes;
}

static int choose_windows(struct diff *d)
{
    size_t room = d->run[0].window_count + d->run[1].window_count + 1;
    d->windows = calloc(room, sizeof *d->windows);
    d->left_out = calloc(room, sizeof *d->left_out);
    if (d->windows == NULL || d->left_out == NULL)
        return -ENOMEM;
    d->is_per_rank = d->run[0].processes != d->run[1].processes;
    for (int run = 0; run < 2; run++)
        for (size_t i = 0; i < d->run[run].window_count; i++) {
            int32_t ordinal = d->run[run].windows[i].ordinal;
            if (!is_comparable(d, ordinal))
                d->left_out[d->left_out_count++] = (struct window_left_out){run, ordinal};
            else if (run == 0)
                d->windows[d->window_count++] = ordinal;
        }
    return 0;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* What a row has in a window, by run. */
struct cell {
    double of[DIFF_QUANTITIES][2];
};

struct cells {
    struct key_table keys; /* high: row, low: number of the window */
    struct cell *cells;
};

/* Is it a row that says something? Waits that are unknown in one run cannot be compared; call paths
 * of runs without are the same as the functions. */
static bool is_wanted(const struct diff *d, const struct tally *t, uint32_t row)
{
    bool has_waits = d->run[0].why_no_waits == NULL && d->run[1].why_no_waits == NULL;
    bool has_paths = d->run[0].report.call_sites.known || d->run[1].report.call_sites.known;
    return (has_waits || !tally_is_wait(t, row)) &&
           (has_paths || tally_table(t, row) != DIFF_PATHS);
}

static int gather(struct diff *d, struct cells *c, uint32_t *const row_of[2])
{
    c->cells = calloc((size_t)d->run[0].cells.count + d->run[1].cells.count + 1, sizeof *c->cells);
    if (c->cells == NULL)
        return -ENOMEM;
    for (int run = 0; run < 2; run++) {
        const struct tally *t = &d->run[run];
        double scale = d->is_per_rank && t->processes > 0 ? t->processes : 1;
        for (uint32_t i = 0; i < t->cells.count; i++) {
            uint32_t row = (uint32_t)t->cells.keys[i].high;
            size_t window = number_of(d, (int32_t)t->cells.keys[i].low);
            if (window == d->window_count || !is_wanted(d, t, row))
                continue;
            uint32_t n = key_table_add(&c->keys, row_of[run][row], window);
            if (n == KEY_NONE)
                return -ENOMEM;
            for (int q = 0; q < DIFF_QUANTITIES; q++)
                c->cells[n].of[q][run] += t->values[i].of[q] / scale;
        }
    }
    return 0;
}

/* Finds the spread of one quantity of the first `rows` rows. */
static void find_spreads(struct diff *d, size_t rows, const struct cells *c, int q,
                         struct spread *spreads)
{
    memset(spreads, 0, rows * sizeof *spreads);
    for (int pass = 1; pass <= 3; pass++)
        for (uint32_t i = 0; i < c->keys.count; i++) {
            size_t row = c->keys.keys[i].high;
            struct diff_figure *f = &d->rows[row].of[q];
            const double *value = c->cells[i].of[q];
            if (pass == 1)
                noise_first_pass(&spreads[row], f, value);
            else if (pass == 2)
                noise_second_pass(&spreads[row], f, value, d->window_count);
            else
                noise_third_pass(&spreads[row], value, d->window_count);
        }
}

/* --- rows of windows -------------------------------------------------------------------------- */

static const char *region_of(const struct diff *d, int run, int32_t ordinal)
{
    const struct tally_window *w = find_window(&d->run[run], ordinal);
    return w != NULL ? w->region : "";
}

/* Returns the name of a row: "7 (region), in MPI". */
static char *window_name(const struct diff *d, int run, int32_t ordinal, const char *total)
{
    char *name = NULL;
    const char *region = region_of(d, run, ordinal);
    bool has_region = region[0] != '\0';
    if (asprintf(&name, "%" PRId32 "%s%s%s, %s", ordinal, has_region ? " (" : "", region,
                 has_region ? ")" : "", total) < 0)
        return NULL;
    return name;
}

/* Adds a row for a window of a total: a cell of its row. */
static int add_window(struct diff *d, size_t total, const struct cell *c, int32_t ordinal)
{
    void *rows = array_grown(d->rows, d->row_count, &d->room, sizeof *d->rows);
    if (rows == NULL)
        return -ENOMEM;
    d->rows = rows;
    struct diff_row *row = &d->rows[d->row_count++];
    *row = (struct diff_row){.table = DIFF_WINDOWS};
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        memcpy(row->of[q].value, c->of[q], sizeof row->of[q].value);
    row->name = window_name(d, 0, ordinal, d->rows[total].name);
    bool good = row->name != NULL;
    for (int run = 0; run < 2; run++) {
        row->shown[run] = window_name(d, run, ordinal, d->rows[total].name);
        good = good && row->shown[run] != NULL;
    }
    return good ? 0 : -ENOMEM;
}

/* Does the cell make a row of DIFF_WINDOWS? With one window it would be the total again. */
static bool is_of_window(const struct diff *d, const struct cells *c, uint32_t cell)
{
    return d->window_count > 1 && d->rows[c->keys.keys[cell].high].table == DIFF_TOTALS;
}

/* Judges all rows, and adds those of windows. spreads: room for one of each row. */
static int judge_rows(struct diff *d, const struct cells *c, struct spread *spreads)
{
    size_t rows = d->row_count, next = rows;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < c->keys.count; i++)
        if (is_of_window(d, c, i))
            rc = add_window(d, c->keys.keys[i].high, &c->cells[i], d->windows[c->keys.keys[i].low]);
    for (int q = 0; rc == 0 && q < DIFF_QUANTITIES; q++, next = rows) {
        find_spreads(d, rows, c, q, spreads);
        for (size_t i = 0; i < rows; i++)
            noise_of_sum(&d->rows[i].of[q], &spreads[i], d->window_count,
                         q == (int)diff_main_quantity(d->rows[i].table));
        for (uint32_t i = 0; i < c->keys.count; i++)
            if (is_of_window(d, c, i))
                noise_of_window(&d->rows[next++].of[q], &spreads[c->keys.keys[i].high],
                                d->window_count, q == DIFF_TIME);
    }
    return rc;
}

/* --- order ------------------------------------------------------------------------------------ */

static bool is_marked(const struct diff_row *r)
{
    bool marked = false;
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        marked |= r->of[q].is_significant;
    return marked;
}

/* How much a row differs: counters, which count different things, relatively. */
static double weight(const struct diff_row *r)
{
    const struct diff_figure *f = &r->of[diff_main_quantity(r->table)];
    double x = fabs(f->value[1] - f->value[0]), size = fmax(f->value[0], f->value[1]);
    return r->table != DIFF_COUNTERS ? x : size > 0 ? x / size : 0;
}

/* The significant ones come first, then those that differ most. Totals keep their order. */
static int by_weight(const void *a, const void *b)
{
    const struct diff_row *x = a, *y = b;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    if (x->table == DIFF_TOTALS && strcmp(x->name, DIFF_WHOLE) == 0)
        return -1;
    if (x->table == DIFF_TOTALS)
        return strcmp(y->name, DIFF_WHOLE) == 0 ? 1 : strcmp(x->name, y->name);
    if (is_marked(x) != is_marked(y))
        return is_marked(x) ? -1 : 1;
    double v = weight(x), w = weight(y);
    return v > w ? -1 : v < w ? 1 : strverscmp(x->name, y->name);
}

static void free_row(struct diff_row *r)
{
    free(r->name);
    free(r->shown[0]);
    free(r->shown[1]);
}

/* Does neither run have the row in the compared windows? */
static bool is_empty(const struct diff_row *r)
{
    double sum = 0;
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        sum += fabs(r->of[q].value[0]) + fabs(r->of[q].value[1]);
    return sum == 0;
}

static void drop_empty(struct diff *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->row_count; i++)
        if (is_empty(&d->rows[i]))
            free_row(&d->rows[i]);
        else
            d->rows[kept++] = d->rows[i];
    d->row_count = kept;
}

int diff_compare(struct diff *d)
{
    struct cells cells = {0};
    struct spread *spreads = NULL;
    uint32_t *row_of[2] = {calloc((size_t)d->run[0].rows.count + 1, sizeof **row_of),
                           calloc((size_t)d->run[1].rows.count + 1, sizeof **row_of)};
    int rc = row_of[0] != NULL && row_of[1] != NULL ? choose_windows(d) : -ENOMEM;
    if (rc == 0)
        rc = diff_align(d, row_of);
    if (rc == 0)
        rc = gather(d, &cells, row_of);
    if (rc == 0 && (spreads = calloc(d->row_count + 1, sizeof *spreads)) == NULL)
        rc = -ENOMEM;
    if (rc == 0)
        rc = judge_rows(d, &cells, spreads);
    if (rc == 0) {
        drop_empty(d);
        rc = noise_mark(d);
    }
    if (rc == 0 && d->row_count > 1)
        qsort(d->rows, d->row_count, sizeof *d->rows, by_weight);
    key_table_free(&cells.keys);
    free(cells.cells);
    free(spreads);
    free(row_of[0]);
    free(row_of[1]);
    return rc;
}

void diff_free(struct diff *d)
{
    for (size_t i = 0; i < d->row_count; i++)
        free_row(&d->rows[i]);
    free(d->rows);
    free(d->windows);
    free(d->left_out);
    tally_free(&d->run[0]);
    tally_free(&d->run[1]);
}

/* --- what is asked of a comparison ------------------------------------------------------------ */

double diff_percent(const struct diff_figure *f)
{
    return f->value[0] > 0 ? 100 * (f->value[1] / f->value[0] - 1) : NAN;
}

bool diff_is_slower(const struct diff *d, double percent, const struct diff_row **row)
{
    double all = 0, most = 0;
    *row = NULL;
    for (size_t i = 0; i < d->row_count; i++)
        if (d->rows[i].table == DIFF_TOTALS && strcmp(d->rows[i].name, DIFF_WHOLE) == 0)
            all = d->rows[i].of[DIFF_TIME].value[0];
    for (size_t i = 0; i < d->row_count; i++) {
        const struct diff_figure *f = &d->rows[i].of[DIFF_TIME];
        double x = f->value[1] - f->value[0];
        if (d->rows[i].table == DIFF_WINDOWS || !f->is_significant || 100 * x <= percent * all ||
            x <= most)
            continue;
        most = x;
        *row = &d->rows[i];
    }
    return *row != NULL;
}
