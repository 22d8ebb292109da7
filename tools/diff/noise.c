/* SPDX-License-Identifier: BSD-3-Clause
 * Judges differences by Student's t tests over windows. */
#include "tools/diff/noise.h"

#include "tools/diff/student.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Differences up to this share of the figures are rounding. */
#define ROUNDING 1e-12

/* --- how a row varies ------------------------------------------------------------------------- */

void noise_first_pass(struct spread *s, struct diff_figure *f, const double value[2])
{
    s->windows += value[0] != 0 || value[1] != 0;
    s->both += value[0] > 0 && value[1] > 0;
    f->value[0] += value[0];
    f->value[1] += value[1];
}

static bool has_ratios(const struct spread *s, size_t all)
{
    return s->both == all && all >= 2;
}

static double log_ratio(const double value[2])
{
    return log(value[1] / value[0]);
}

void noise_second_pass(struct spread *s, const struct diff_figure *f, const double value[2],
                       size_t all)
{
    double n = (double)all;
    s->differences.mean = (f->value[1] - f->value[0]) / n;
    s->differences.squares = (n - s->windows) * s->differences.mean * s->differences.mean;
    if (has_ratios(s, all))
        s->ratios.mean += log_ratio(value) / n;
}

static void add_square(struct moments *m, double value)
{
    m->squares += (value - m->mean) * (value - m->mean);
}

void noise_third_pass(struct spread *s, const double value[2], size_t all)
{
    if (value[0] != 0 || value[1] != 0)
        add_square(&s->differences, value[1] - value[0]);
    if (has_ratios(s, all))
        add_square(&s->ratios, log_ratio(value));
}

/* --- tests ------------------------------------------------------------------------------------ */

/* `off` is the distance of a value from what is expected, `error` the standard error of that,
 * `size` how large both may be, `scale` the difference in f by `off`. */
static void judge(struct diff_figure *f, double off, double error, double freedom, double size,
                  double scale)
{
    bool is_same = fabs(off) <= ROUNDING * size, is_exact = error <= ROUNDING * size;
    f->noise = is_exact ? 0 : student_quantile(0.05, freedom) * error * scale;
    f->p = is_same ? 1 : is_exact ? 0 : student_tails(off / error, freedom);
}

/* Returns the difference by the logarithm of the ratio: the logarithmic mean of both values. */
static double by_log(const struct diff_figure *f)
{
    double x = log_ratio(f->value);
    return fabs(x) > 1e-6 ? (f->value[1] - f->value[0]) / x : (f->value[0] + f->value[1]) / 2;
}

/* The paired t test of the windows' ratios. If most windows change otherwise than the sum does, a
 * few windows make its difference: that is noise. The noise is less than the difference if p is
 * less than 5 %, as that of a test of differences is. */
static void judge_ratios(struct diff_figure *f, const struct moments *m, double n)
{
    double x = f->value[1] - f->value[0], scale = by_log(f);
    judge(f, m->mean, sqrt(m->squares / (n - 1) / n), n - 1, 1, scale);
    if ((x > 0) != (m->mean > 0))
        f->p = 1;
    if (f->p < 0.05)
        f->noise *= fabs(x / (m->mean * scale));
    else
        f->noise = fmax(f->noise, fabs(x));
}

/* Without ratios, the paired t test of the windows' differences. */
void noise_of_sum(struct diff_figure *f, const struct spread *s, size_t all, bool is_measured)
{
    double n = (double)all, size = fabs(f->value[0]) + fabs(f->value[1]);
    f->noise = f->p = NAN;
    if (all < 2)
        return;
    if (is_measured && has_ratios(s, all))
        judge_ratios(f, &s->ratios, n);
    else
        judge(f, f->value[1] - f->value[0], sqrt(s->differences.squares / (n - 1) * n), n - 1, size,
              1);
}

/* The t test of a deleted residual: is the value in this window other than in the others? */
static void judge_residual(struct diff_figure *f, const struct moments *m, double value, double n,
                           double size, double scale)
{
    double off = (value - m->mean) * n / (n - 1);
    double squares = fmax(0, m->squares - off * off * (n - 1) / n);
    judge(f, off, sqrt(squares / (n - 2) * n / (n - 1)), n - 2, size, scale);
}

void noise_of_window(struct diff_figure *f, const struct spread *s, size_t all, bool is_measured)
{
    double n = (double)all;
    f->noise = f->p = NAN;
    if (all < 3)
        return;
    if (is_measured && has_ratios(s, all))
        judge_residual(f, &s->ratios, log_ratio(f->value), n, 1, by_log(f));
    else
        judge_residual(f, &s->differences, f->value[1] - f->value[0], n,
                       fabs(f->value[0]) + fabs(f->value[1]) + fabs(s->differences.mean), 1);
}

/* --- marks ------------------------------------------------------------------------------------ */

/* Marks the rows of windows, or all others. p: room for all figures. A figure that is the same in
 * all windows of both runs is no test. */
static void mark(struct diff *d, bool windows, double *p)
{
    size_t count = 0;
    for (size_t i = 0; i < d->row_count; i++)
        for (int q = 0; q < DIFF_QUANTITIES; q++) {
            const struct diff_figure *f = &d->rows[i].of[q];
            if ((d->rows[i].table == DIFF_WINDOWS) == windows && isfinite(f->p) &&
                (f->noise > 0 || f->p < 1))
                p[count++] = f->p;
        }
    double most = student_threshold(p, count, DIFF_LEVEL);
    for (size_t i = 0; i < d->row_count; i++)
        for (int q = 0; q < DIFF_QUANTITIES; q++)
            if ((d->rows[i].table == DIFF_WINDOWS) == windows)
                d->rows[i].of[q].is_significant = d->rows[i].of[q].p <= most;
}

int noise_mark(struct diff *d)
{
    double *p = calloc(d->row_count * DIFF_QUANTITIES + 1, sizeof *p);
    if (p == NULL)
        return -ENOMEM;
    mark(d, false, p);
    mark(d, true, p);
    free(p);
    return 0;
}
