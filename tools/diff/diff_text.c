/* SPDX-License-Identifier: BSD-3-Clause
 * Prints a comparison of two runs for people, and the texts that its page has too. */
#include "tools/diff/diff.h"

#include "tools/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum diff_quantity diff_main_quantity(enum diff_table table)
{
    return table == DIFF_COUNTERS || table == DIFF_SAMPLES ? DIFF_COUNT : DIFF_TIME;
}

const char *diff_table_title(enum diff_table table)
{
    static const char *const titles[DIFF_TABLES] = {
        [DIFF_TOTALS] = "Time of all threads in the compared windows",
        [DIFF_MPI] = "MPI functions (outermost calls)",
        [DIFF_FUNCTIONS] = "Functions of the program (own time, without functions they call)",
        [DIFF_SAMPLES] = "Samples by function, in periods",
        [DIFF_PATHS] = "MPI calls by call path",
        [DIFF_WAITS] = "Waits for other ranks, by the call that waits",
        [DIFF_LATE] = "Waits for other ranks, by the call that came late",
        [DIFF_COUNTERS] = "Counted events",
        [DIFF_WINDOWS] = "Windows (marked: differs otherwise than the other windows)",
    };
    return titles[table];
}

const char *diff_table_name(enum diff_table table)
{
    static const char *const names[DIFF_TABLES] = {
        [DIFF_TOTALS] = "totals",       [DIFF_WINDOWS] = "windows", [DIFF_MPI] = "mpi",
        [DIFF_FUNCTIONS] = "functions", [DIFF_PATHS] = "paths",     [DIFF_SAMPLES] = "samples",
        [DIFF_WAITS] = "waits",         [DIFF_LATE] = "late_calls", [DIFF_COUNTERS] = "counters",
    };
    return names[table];
}

const char *diff_count_name(enum diff_table table)
{
    bool waits = table == DIFF_WAITS || table == DIFF_LATE;
    bool calls = table == DIFF_MPI || table == DIFF_FUNCTIONS || table == DIFF_PATHS;
    return waits ? "waits" : calls ? "calls" : table == DIFF_SAMPLES ? "periods" : "count";
}

const char *diff_value_text(char out[32], enum diff_quantity q, double value)
{
    char text[24];
    if (q == DIFF_TIME)
        (void)snprintf(out, 32, "%s", report_time_text(text, value));
    else if (q == DIFF_BYTES)
        (void)snprintf(out, 32, "%s", report_bytes_text(text, (uint64_t)value));
    else
        (void)snprintf(out, 32, value == floor(value) ? "%.0f" : "%.1f", value);
    return out;
}

const char *diff_difference_text(char out[40], enum diff_quantity q, const struct diff_figure *f)
{
    char text[32];
    double x = f->value[1] - f->value[0];
    (void)snprintf(out, 40, "%s%s",
                   x < 0   ? "-"
                   : x > 0 ? "+"
                           : "",
                   diff_value_text(text, q, fabs(x)));
    return out;
}

const char *diff_change_text(char out[32], const struct diff_figure *f)
{
    double percent = diff_percent(f);
    if (f->value[0] == f->value[1])
        (void)snprintf(out, 32, "=");
    else if (f->value[0] == 0 || f->value[1] == 0)
        (void)snprintf(out, 32, "%s", f->value[0] == 0 ? "new" : "gone");
    else
        (void)snprintf(out, 32, percent < 1000 ? "%+.1f %%" : "%.0f x",
                       percent < 1000 ? percent : f->value[1] / f->value[0]);
    return out;
}

const char *diff_row_text(const struct diff_row *row)
{
    return row->shown[1] != NULL ? row->shown[1] : row->shown[0];
}

size_t diff_left_out(const struct diff *d, int run)
{
    size_t count = 0;
    for (size_t i = 0; i < d->left_out_count; i++)
        count += d->left_out[i].run == run;
    return count;
}

void diff_write_left_out(FILE *out, const struct diff *d, int run)
{
    const char *between = "";
    for (size_t i = 0, last; i < d->left_out_count; i = last + 1) {
        last = i;
        if (d->left_out[i].run != run)
            continue;
        while (last + 1 < d->left_out_count && d->left_out[last + 1].run == run &&
               d->left_out[last + 1].ordinal == d->left_out[last].ordinal + 1)
            last++;
        (void)fprintf(out, "%s%" PRId32, between, d->left_out[i].ordinal);
        if (last > i)
            (void)fprintf(out, "-%" PRId32, d->left_out[last].ordinal);
        between = ", ";
    }
}

bool diff_chains_differ(const struct diff *d)
{
    const struct report *a = &d->run[0].report, *b = &d->run[1].report;
    bool same = a->chain_count == b->chain_count;
    for (size_t i = 0; same && i < a->chain_count; i++)
        same = strcmp(a->chains[i], b->chains[i]) == 0;
    return !same;
}

const char *diff_noise_text(const struct diff *d)
{
    return d->window_count < 2
               ? "What is noise is unknown (?): it takes two windows or more."
               : "Noise: a difference beyond it, by how it varies over the windows, is chance once "
                 "in 20 times.\nMarked (*): more than chance, though many are compared.";
}

/* --- tables ----------------------------------------------------------------------------------- */

bool diff_has(const struct diff *d, enum diff_table table, enum diff_quantity q)
{
    for (size_t i = 0; i < d->row_count; i++)
        if (d->rows[i].table == table &&
            (d->rows[i].of[q].value[0] > 0 || d->rows[i].of[q].value[1] > 0))
            return true;
    return false;
}

static bool differs(const struct diff_row *r)
{
    bool other = false;
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        other |= r->of[q].value[0] < r->of[q].value[1] || r->of[q].value[0] > r->of[q].value[1];
    return other;
}

static const char *mark_of(const struct diff_row *r)
{
    return r->table == DIFF_WINDOWS ? " !" : " *";
}

/* Writes a quantity beside the main one: its value, or both and a mark if they differ. */
static const char *beside_text(char out[72], const struct diff_row *r, enum diff_quantity q)
{
    const struct diff_figure *f = &r->of[q];
    char one[32], two[32];
    if (f->value[0] == 0 && f->value[1] == 0)
        (void)snprintf(out, 72, "-");
    else if (f->value[0] == f->value[1])
        (void)snprintf(out, 72, "%s", diff_value_text(one, q, f->value[0]));
    else
        (void)snprintf(out, 72, "%s -> %s%s", diff_value_text(one, q, f->value[0]),
                       diff_value_text(two, q, f->value[1]), f->is_significant ? mark_of(r) : "");
    return out;
}

/* widths: of the columns of quantities beside the main one; 0: there is none. */
static void print_row(FILE *out, const struct diff_row *r, const int widths[DIFF_QUANTITIES])
{
    enum diff_quantity q = diff_main_quantity(r->table);
    const struct diff_figure *f = &r->of[q];
    char one[32], two[32], more[40], change[32], noise[32], text[72];
    const char *mark = isnan(f->p) ? " ?" : "  ";
    (void)fprintf(out, "  %11s %11s %12s %9s%s %11s", diff_value_text(one, q, f->value[0]),
                  diff_value_text(two, q, f->value[1]), diff_difference_text(more, q, f),
                  diff_change_text(change, f), f->is_significant ? mark_of(r) : mark,
                  isnan(f->noise) ? "?" : diff_value_text(noise, q, f->noise));
    for (int i = 0; i < DIFF_QUANTITIES; i++)
        if (widths[i] > 0)
            (void)fprintf(out, "  %*s", widths[i], beside_text(text, r, (enum diff_quantity)i));
    (void)fputs("  ", out);
    text_write_plain(out, diff_row_text(r));
    (void)fputc('\n', out);
}

/* Prints some rows of one table, at least one. */
static void print_rows(FILE *out, const struct diff_row *const *rows, size_t count)
{
    enum diff_table table = rows[0]->table;
    const char *const heads[DIFF_QUANTITIES] = {"time", diff_count_name(table), "bytes"};
    int widths[DIFF_QUANTITIES] = {0};
    char text[72];
    for (size_t i = 0; i < count; i++)
        for (int q = 0; q < DIFF_QUANTITIES; q++) {
            bool beside = q != (int)diff_main_quantity(table) &&
                          (rows[i]->of[q].value[0] > 0 || rows[i]->of[q].value[1] > 0);
            int width = (int)strlen(beside_text(text, rows[i], (enum diff_quantity)q));
            if (beside && widths[q] == 0)
                widths[q] = (int)strlen(heads[q]);
            if (beside && width > widths[q])
                widths[q] = width;
        }
    (void)fprintf(out, "  %11s %11s %12s %9s   %11s", "run 1", "run 2", "difference", "", "noise");
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        if (widths[q] > 0)
            (void)fprintf(out, "  %*s", widths[q], heads[q]);
    (void)fputc('\n', out);
    for (size_t i = 0; i < count; i++)
        print_row(out, rows[i], widths);
}

/* shown: room for all rows. */
static void print_table(FILE *out, const struct diff *d, enum diff_table table, size_t top,
                        const struct diff_row **shown)
{
    size_t rows = 0, other = 0;
    for (size_t i = 0; i < d->row_count; i++) {
        rows += d->rows[i].table == table;
        if (d->rows[i].table == table && differs(&d->rows[i]))
            shown[other++] = &d->rows[i];
    }
    if (rows == 0)
        return;
    (void)fprintf(out, "\n%s\n", diff_table_title(table));
    size_t count = top != 0 && other > top ? top : other;
    if (count > 0)
        print_rows(out, shown, count);
    if (other > count)
        (void)fprintf(out, "  ... %zu more that differ%s (-top 0 shows all)\n", other - count,
                      other - count == 1 ? "s" : "");
    if (rows > other)
        (void)fprintf(out, "  %zu %s the same in both runs\n", rows - other,
                      rows - other == 1 ? "is" : "are");
}

/* --- head ------------------------------------------------------------------------------------- */

static void print_run(FILE *out, const struct diff *d, int run)
{
    const struct tally *t = &d->run[run];
    (void)fprintf(out, "run %d: ", run + 1);
    text_write_plain(out, t->report.dir);
    (void)fprintf(out, "\n  %" PRIu32 " process%s, %zu window%s", t->processes,
                  t->processes == 1 ? "" : "es", t->window_count, t->window_count == 1 ? "" : "s");
    if (diff_left_out(d, run) > 0) {
        (void)fputs("; not compared: ", out);
        diff_write_left_out(out, d, run);
    }
    (void)fputc('\n', out);
    if (t->lost > 0)
        (void)fprintf(out, "  %" PRIu64 " events were lost: its figures are too low\n", t->lost);
    if (t->why_no_waits != NULL)
        (void)fprintf(out, "  its waits are unknown: %s\n", t->why_no_waits);
    addresses_print_lacks(out, &t->report.addresses);
}

void diff_print_text(FILE *out, const struct diff *d, size_t top)
{
    print_run(out, d, 0);
    print_run(out, d, 1);
    (void)fprintf(out, "%zu window%s of both compared%s.\n%s\n", d->window_count,
                  d->window_count == 1 ? "" : "s",
                  d->is_per_rank ? ", by their means over processes" : "", diff_noise_text(d));
    if (diff_chains_differ(d))
        (void)fputs(DIFF_CHAINS_DIFFER "\n", out);
    const struct diff_row **rows = report_room(d->row_count + 1, sizeof *rows, "tables");
    for (int table = 0; rows != NULL && table < DIFF_TABLES; table++)
        print_table(out, d, (enum diff_table)table, table == DIFF_TOTALS ? 0 : top, rows);
    free(rows);
}
