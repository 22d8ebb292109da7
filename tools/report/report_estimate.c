/* SPDX-License-Identifier: BSD-3-Clause
 * Estimates the whole run from its windows, beside its known totals.
 *
 * Each thread is estimated separately, from its closed windows of the kind region that stand for
 * more than themselves. With N for the instructions of the thread, the methods are:
 *   multiplier  (LoopPoint)  sum of multiplier x value
 *   weight      (PinPoints)  N x sum of (weight x value per instruction) / sum of weights
 *   uniform                  N x sum of values / sum of instructions in windows
 * Uniform windows are those of the uniform alarm, and those that icount opens in a chain that
 * repeats. Windows of other chains were chosen for what happens in them, and say nothing about the
 * rest. */
#include "tools/report/report.h"

#include <inttypes.h>
#include <string.h>

const char *report_method_name(enum report_method method)
{
    static const char *const names[] = {"none", "uniform", "weight", "multiplier"};
    return names[method];
}

const char *report_quantity_name(enum report_quantity quantity)
{
    static const char *const names[] = {"instructions", "time_ns", "mpi_ns", "mpi_calls"};
    return names[quantity];
}

static const struct report_thread *same_thread(const struct report *whole,
                                               const struct report_rank *k, int32_t tid,
                                               const struct report_rank **its_rank)
{
    for (size_t i = 0; whole != NULL && i < whole->rank_count; i++) {
        const struct report_rank *o = &whole->ranks[i];
        if (o->error != NULL || o->info.rank != k->info.rank || o->info.is_main != k->info.is_main)
            continue;
        for (size_t t = 0; t < o->thread_count; t++)
            if (o->threads[t].row.thread == tid) {
                *its_rank = o;
                return &o->threads[t];
            }
    }
    return NULL;
}

static enum report_method method_of(const struct report_rank *k, const struct report_window *w)
{
    if (w->row.kind != 0)
        return METHOD_NONE;
    if (w->row.multiplier > 0)
        return METHOD_MULTIPLIER;
    if (w->row.weight > 0)
        return METHOD_WEIGHT;
    for (size_t i = 0; i < k->alarm_count; i++)
        if (k->alarms[i].alarm == w->row.start_alarm)
            return k->alarms[i].periodic ? METHOD_UNIFORM : METHOD_NONE;
    return METHOD_NONE;
}

static void values_of(const struct report_window *w, double out[ESTIMATES])
{
    bool counted = w->row.start_icount >= 0 && w->row.stop_icount > w->row.start_icount;
    out[ESTIMATE_INSTRUCTIONS] = counted ? (double)(w->row.stop_icount - w->row.start_icount) : 0;
    out[ESTIMATE_TIME] = (double)(w->stop_ns - w->start_ns);
    out[ESTIMATE_MPI_TIME] = w->mpi_ns;
    out[ESTIMATE_MPI_CALLS] = (double)w->calls;
}

/* Sums over those windows of a thread that its method uses. */
struct sums {
    enum report_method method;
    uint64_t windows, unfinished;
    double weights, values[ESTIMATES];
    bool counted; /* every window has instruction counts */
};

static void add_window(struct sums *s, const struct report_window *w)
{
    double values[ESTIMATES];
    values_of(w, values);
    bool needs_count = s->method != METHOD_MULTIPLIER;
    if (!w->has_stop || w->row.truncated == RT_END_CUT || (needs_count && !(values[0] > 0))) {
        s->unfinished++;
        return;
    }
    double factor = s->method == METHOD_MULTIPLIER ? w->row.multiplier
                    : s->method == METHOD_WEIGHT   ? w->row.weight / values[0]
                                                   : 1;
    s->windows++;
    s->weights += s->method == METHOD_WEIGHT ? w->row.weight : 0;
    s->counted &= values[0] > 0;
    for (int q = 0; q < ESTIMATES; q++)
        s->values[q] += factor * values[q];
}

/* Uses one method for the thread: the most specific that its windows have. */
static struct sums sum_thread(const struct report_rank *k, int32_t tid)
{
    struct sums s = {.method = METHOD_NONE, .counted = true};
    for (size_t i = 0; i < k->window_count; i++)
        if (k->windows[i].row.thread == tid && method_of(k, &k->windows[i]) > s.method)
            s.method = method_of(k, &k->windows[i]);
    for (size_t i = 0; i < k->window_count && s.method != METHOD_NONE; i++)
        if (k->windows[i].row.thread == tid && method_of(k, &k->windows[i]) == s.method)
            add_window(&s, &k->windows[i]);
    return s;
}

/* Returns the factor from the sums to the whole; 0: unknown. */
static double scale_of(const struct sums *s, double instructions)
{
    if (s->method == METHOD_MULTIPLIER)
        return 1;
    double base = s->method == METHOD_WEIGHT ? s->weights : s->values[ESTIMATE_INSTRUCTIONS];
    return base > 0 ? instructions / base : 0;
}

struct known_count {
    double values[ESTIMATES];
    bool has[ESTIMATES];
};

static struct known_count known_of(const struct report *whole, const struct report_rank *k,
                                   const struct report_thread *t)
{
    struct known_count n = {{0}, {0}};
    const struct report_rank *its_rank = NULL;
    const struct report_thread *other = same_thread(whole, k, t->row.thread, &its_rank);
    uint64_t instructions = t->row.instructions;
    if (instructions == 0 && other != NULL)
        instructions = other->row.instructions;
    n.values[ESTIMATE_INSTRUCTIONS] = (double)instructions;
    n.has[ESTIMATE_INSTRUCTIONS] = instructions != 0;
    n.values[ESTIMATE_TIME] = t->life_ns;
    n.has[ESTIMATE_TIME] = t->life_ns > 0;
    if (other != NULL && whole->chain_count == 0 && other->window_ns > 0 &&
        its_rank->lost_events == 0 && !its_rank->lost_unknown) {
        n.values[ESTIMATE_MPI_TIME] = other->mpi_ns;
        n.values[ESTIMATE_MPI_CALLS] = (double)other->calls;
        n.has[ESTIMATE_MPI_TIME] = n.has[ESTIMATE_MPI_CALLS] = true;
    }
    return n;
}

/* Adds a thread. A sum is known only if it is known for each thread. */
static void add_thread(struct report_estimate *e, const struct sums *s, const struct known_count *n,
                       double scale)
{
    bool first = e->threads++ == 0;
    e->methods |= 1u << s->method;
    e->windows += s->windows;
    e->weights += s->weights;
    for (int q = 0; q < ESTIMATES; q++) {
        bool estimated =
            q != ESTIMATE_INSTRUCTIONS || (s->method == METHOD_MULTIPLIER && s->counted);
        e->of[q].estimate += scale * s->values[q];
        e->of[q].has_estimate = estimated && (first || e->of[q].has_estimate);
        e->of[q].total += n->values[q];
        e->of[q].has_total = n->has[q] && (first || e->of[q].has_total);
    }
}

bool report_estimate(const struct report *r, const struct report *whole,
                     struct report_estimate *out)
{
    *out = (struct report_estimate){0};
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        for (size_t t = 0; k->error == NULL && t < k->thread_count; t++) {
            struct sums s = sum_thread(k, k->threads[t].row.thread);
            out->unfinished += s.unfinished;
            if (s.windows == 0)
                continue;
            struct known_count n = known_of(whole, k, &k->threads[t]);
            double scale = scale_of(&s, n.values[ESTIMATE_INSTRUCTIONS]);
            if (scale > 0)
                add_thread(out, &s, &n, scale);
            else
                out->uncounted++;
        }
    }
    return out->threads > 0 || out->uncounted > 0 || out->unfinished > 0;
}

static const char *value_text(char out[32], int quantity, double value)
{
    if (quantity == ESTIMATE_TIME || quantity == ESTIMATE_MPI_TIME)
        (void)report_time_text(out, value);
    else
        (void)snprintf(out, 32, "%.0f", value);
    return out;
}

static void print_quantity(FILE *out, const struct report_estimate *e, int q)
{
    static const char *const labels[] = {"instructions", "time of threads", "time in MPI",
                                         "MPI calls"};
    char estimate[32] = "the scale", total[32] = "not measured", off[32] = "";
    if (e->of[q].has_estimate)
        (void)value_text(estimate, q, e->of[q].estimate);
    if (e->of[q].has_total)
        (void)value_text(total, q, e->of[q].total);
    if (e->of[q].has_estimate && e->of[q].has_total && e->of[q].total > 0)
        (void)snprintf(off, sizeof off, "%+.2f%%", 100 * (e->of[q].estimate / e->of[q].total - 1));
    (void)fprintf(out, "  %-16s %20s %20s %10s\n", labels[q], estimate, total, off);
}

void report_print_estimate(FILE *out, const struct report_estimate *e)
{
    (void)fputs("\nThe whole run, estimated from its windows", out);
    for (int m = METHOD_UNIFORM; m <= METHOD_MULTIPLIER; m++)
        if ((e->methods & 1u << m) != 0)
            (void)fprintf(out, "%s%s", (e->methods & ((1u << m) - 1)) != 0 ? ", " : " by ",
                          m == METHOD_UNIFORM  ? "uniform sampling"
                          : m == METHOD_WEIGHT ? "the weights of regions"
                                               : "the multipliers of regions");
    (void)fprintf(out, "\n  %" PRIu64 " windows of %" PRIu64 " threads", e->windows, e->threads);
    if (e->weights > 0)
        (void)fprintf(out, "; their weights add up to %.6g%s", e->weights,
                      e->threads == 1 ? "" : " over all threads");
    (void)fputc('\n', out);
    if (e->threads > 0) {
        (void)fprintf(out, "  %-16s %20s %20s %10s\n", "", "estimate", "true total", "off by");
        for (int q = 0; q < ESTIMATES; q++)
            print_quantity(out, e, q);
        if (!e->of[ESTIMATE_MPI_TIME].has_total)
            (void)fputs("  -total DIR takes true totals from a run that was recorded from start to "
                        "end\n",
                        out);
    }
    if (e->uncounted > 0)
        (void)fprintf(out,
                      "  left out: %" PRIu64
                      " threads whose instructions nobody counted; -total DIR "
                      "takes them from a run that `regtrace run --count` made\n",
                      e->uncounted);
    if (e->unfinished > 0)
        (void)fprintf(out,
                      "  left out: %" PRIu64
                      " windows that were cut off by the end, or that have no instruction counts\n",
                      e->unfinished);
}
