/* SPDX-License-Identifier: BSD-3-Clause
 * How unevenly ranks work: for each window, by its ordinal, what ranks did in it, and which rank
 * did most. Covers threads that call MPI, or all threads of a rank if none calls MPI. */
#include "tools/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define WINDOWS_SHOWN 10

enum quantity { LENGTH, OUTSIDE, SHARE, CALLS, BYTES, INSTRUCTIONS, QUANTITIES };
static const char *const names[QUANTITIES] = {"duration_ns", "outside_mpi_ns", "mpi_share",
                                              "mpi_calls",   "mpi_bytes",      "instructions"};

/* One window of one rank, the sum of its threads. NAN: unknown. */
struct uneven_part {
    int32_t ordinal, rank;
    double mpi_ns, of[QUANTITIES];
};

/* One quantity of a window, over ranks. */
struct spread {
    size_t ranks;
    double mean, least, most;
    int32_t least_rank, most_rank;
};

/* One window over all ranks. lost_ns: time that the other ranks lose if they wait for the one that
 * works longest outside MPI. */
struct uneven {
    int32_t ordinal;
    double lost_ns;
    struct spread of[QUANTITIES];
};

static int by_ordinal(const void *a, const void *b)
{
    const struct uneven_part *x = a, *y = b;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_loss(const void *a, const void *b)
{
    const struct uneven *x = a, *y = b;
    if (x->lost_ns > y->lost_ns || x->lost_ns < y->lost_ns)
        return x->lost_ns > y->lost_ns ? -1 : 1;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static size_t take_rank(const struct report_rank *k, struct uneven_part *out)
{
    size_t n = 0;
    bool calls = false;
    for (size_t i = 0; i < k->thread_count; i++)
        calls |= k->threads[i].calls > 0;
    for (size_t i = 0; i < k->window_count; i++) {
        const struct report_window *w = &k->windows[i];
        const struct report_thread *t = report_find_thread(k, w->row.thread);
        if (!w->has_stop || (calls && (t == NULL || t->calls == 0)))
            continue;
        double instructions = w->row.start_icount < 0 || w->row.stop_icount < 0
                                  ? NAN
                                  : (double)(w->row.stop_icount - w->row.start_icount);
        out[n] = (struct uneven_part){w->row.ordinal, k->info.rank, w->mpi_ns, {0}};
        out[n].of[LENGTH] = (double)(w->stop_ns - w->start_ns);
        out[n].of[CALLS] = (double)w->calls;
        out[n].of[BYTES] = (double)w->bytes;
        out[n++].of[INSTRUCTIONS] = instructions;
    }
    return n;
}

/* Merges the threads of one rank and window. */
static size_t join(struct uneven_part *parts, size_t count)
{
    size_t n = 0;
    qsort(parts, count, sizeof *parts, by_ordinal);
    for (size_t i = 0; i < count; i++) {
        if (n == 0 || by_ordinal(&parts[n - 1], &parts[i]) != 0) {
            parts[n++] = parts[i];
            continue;
        }
        parts[n - 1].mpi_ns += parts[i].mpi_ns;
        for (int q = 0; q < QUANTITIES; q++)
            parts[n - 1].of[q] += parts[i].of[q];
    }
    for (size_t i = 0; i < n; i++) {
        struct uneven_part *p = &parts[i];
        p->of[OUTSIDE] = p->of[LENGTH] - p->mpi_ns;
        p->of[SHARE] = p->of[LENGTH] > 0 ? p->mpi_ns / p->of[LENGTH] : NAN;
    }
    return n;
}

static struct spread spread_of(const struct uneven_part *parts, size_t n, enum quantity q)
{
    struct spread s = {.ranks = 0};
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double v = parts[i].of[q];
        if (isnan(v))
            continue;
        if (s.ranks == 0 || v < s.least) {
            s.least = v;
            s.least_rank = parts[i].rank;
        }
        if (s.ranks == 0 || v > s.most) {
            s.most = v;
            s.most_rank = parts[i].rank;
        }
        sum += v;
        s.ranks++;
    }
    s.mean = s.ranks > 0 ? sum / (double)s.ranks : NAN;
    return s;
}

/* Collects the windows that more than one rank has. Returns a malloc'ed array, or NULL if there are
 * none or without memory. */
static struct uneven *collect(const struct report *r, size_t *count)
{
    size_t room = 1, n = 0;
    *count = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        room += r->ranks[i].window_count;
    struct uneven_part *parts = report_room(room, sizeof *parts, "uneven windows");
    struct uneven *out = report_room(room, sizeof *out, "uneven windows");
    for (size_t i = 0; parts != NULL && out != NULL && i < r->rank_count; i++)
        if (r->ranks[i].error == NULL && r->ranks[i].info.is_main)
            n += take_rank(&r->ranks[i], parts + n);
    n = parts != NULL && out != NULL ? join(parts, n) : 0;
    for (size_t i = 0, m; i < n; i += m) {
        for (m = 1; i + m < n && parts[i + m].ordinal == parts[i].ordinal;)
            m++;
        if (m < 2)
            continue;
        struct uneven *u = &out[(*count)++];
        u->ordinal = parts[i].ordinal;
        for (int q = 0; q < QUANTITIES; q++)
            u->of[q] = spread_of(parts + i, m, (enum quantity)q);
        u->lost_ns = (u->of[OUTSIDE].most - u->of[OUTSIDE].mean) * (double)m;
    }
    free(parts);
    if (*count > 0)
        return out;
    free(out);
    return NULL;
}

static void print_uneven(FILE *out, const struct uneven *u)
{
    char mean[24], most[24], length[24], imbalance[16] = "-";
    const struct spread *s = &u->of[OUTSIDE], *share = &u->of[SHARE];
    if (s->mean > 0)
        (void)snprintf(imbalance, sizeof imbalance, "%.2f", s->most / s->mean);
    (void)fprintf(
        out, "  %8" PRId32 " %7zu %11s %11s %11s %6" PRId32 " %9s   %5.1f%% %5.1f%% to %5.1f%%\n",
        u->ordinal, s->ranks, report_time_text(length, u->of[LENGTH].mean),
        report_time_text(mean, s->mean), report_time_text(most, s->most), s->most_rank, imbalance,
        100 * share->mean, 100 * share->least, 100 * share->most);
}

void report_uneven_print(FILE *out, const struct report *r, bool all)
{
    size_t n, shown;
    bool mpi = false;
    for (size_t i = 0; i < r->rank_count; i++)
        mpi |= r->ranks[i].calls > 0;
    struct uneven *windows = mpi ? collect(r, &n) : NULL;
    if (windows == NULL)
        return;
    qsort(windows, n, sizeof *windows, by_loss);
    shown = all || n <= WINDOWS_SHOWN ? n : WINDOWS_SHOWN;
    (void)fputs("\nWork of ranks outside MPI, by window (imbalance: longest rank / mean; threads "
                "that call MPI)\n",
                out);
    (void)fprintf(out, "  %8s %7s %11s %11s %11s %6s %9s   %6s %s\n", "window", "ranks", "length",
                  "mean/rank", "longest", "rank", "imbalance", "in MPI", "least to most");
    for (size_t i = 0; i < shown; i++)
        print_uneven(out, &windows[i]);
    if (shown < n)
        (void)fprintf(out, "  ... %zu more windows that lose less (-all shows them)\n", n - shown);
    free(windows);
}

void report_uneven_json(struct json *j, const struct report *r)
{
    size_t n;
    struct uneven *windows = collect(r, &n);
    json_array_begin(j, "windows_over_ranks");
    for (size_t i = 0; i < n; i++) {
        json_object_begin(j, NULL);
        json_int(j, "ordinal", windows[i].ordinal);
        for (int q = 0; q < QUANTITIES; q++) {
            const struct spread *s = &windows[i].of[q];
            if (s->ranks == 0) {
                json_null(j, names[q]);
                continue;
            }
            json_object_begin(j, names[q]);
            json_compact(j);
            json_uint(j, "ranks", s->ranks);
            json_real(j, "mean", s->mean);
            json_real(j, "least", s->least);
            json_int(j, "least_rank", s->least_rank);
            json_real(j, "most", s->most);
            json_int(j, "most_rank", s->most_rank);
            json_object_end(j);
        }
        json_object_end(j);
    }
    json_array_end(j);
    free(windows);
}
