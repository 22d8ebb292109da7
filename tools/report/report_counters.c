/* SPDX-License-Identifier: BSD-3-Clause
 * Sums what REGTRACE_EVENTS counted in windows and in MPI calls, per rank and over all. */
#include "tools/report/report.h"

#include "base/format/event_fields.h"

#include <stdlib.h>
#include <string.h>

void report_counters_take(struct report_rank *k, const struct rt_rank *rank,
                          const struct rt_event *ev, const struct report_window *window,
                          struct report_calls *function)
{
    const char *name = rt_rank_string(rank, (uint32_t)EVENT_GET(ev, EV_COUNTER, event));
    uint32_t running = (uint32_t)EVENT_GET(ev, EV_COUNTER, running_per_mille);
    size_t i = 0;
    while (i < k->counter_count && strcmp(k->counters[i].name, name) != 0)
        i++;
    if (i == REPORT_COUNTERS)
        return;
    struct report_counter *c = &k->counters[i];
    if (i == k->counter_count) {
        k->counter_count++;
        (void)snprintf(c->name, sizeof c->name, "%s", name);
        c->running = running;
    }
    if (ev->code == EV_MPI_COUNTER) {
        c->calls++;
        c->in_mpi += ev->b;
        function->counted[i] += ev->b;
        return;
    }
    c->count += ev->b;
    c->windows++;
    if (window != NULL && window->has_stop && window->stop_ns > window->start_ns) {
        c->timed.count += (double)ev->b;
        c->timed.ns += (double)(window->stop_ns - window->start_ns);
    }
    c->running = running < c->running ? running : c->running;
}

static const struct report_counter *find(const struct report_rank *k, const char *name)
{
    for (size_t i = 0; i < k->counter_count; i++)
        if (strcmp(k->counters[i].name, name) == 0)
            return &k->counters[i];
    return NULL;
}

/* Returns how many windows ended without a count: their process was killed, or their file was full;
 * or they are still open. */
static uint64_t uncounted(const struct report *r)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        uint64_t counted = k->counter_count > 0 ? k->counters[0].windows : 0;
        if (k->counts_events && k->window_count > counted)
            n += k->window_count - counted;
    }
    return n;
}

static void print_counter(FILE *out, const struct report *r, const char *name)
{
    double total = 0, most = -1;
    int32_t most_rank = 0;
    unsigned ranks = 0;
    uint32_t running = 1000;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_counter *c = find(&r->ranks[i], name);
        if (c == NULL)
            continue;
        ranks++;
        total += (double)c->count;
        running = c->running < running ? c->running : running;
        if ((double)c->count > most) {
            most = (double)c->count;
            most_rank = r->ranks[i].info.rank;
        }
    }
    (void)fprintf(out, "  %-28s %16.0f %16.0f %16.0f %6d", name, total, total / ranks, most,
                  most_rank);
    if (running < 1000)
        (void)fprintf(out, "  counted %.1f %% of the time at least, shared with other events",
                      running / 10.0);
    (void)fputc('\n', out);
}

/* --- in MPI calls ----------------------------------------------------------------------------- */

/* Sums an event over all ranks: in calls of function f >= 0, in all MPI calls (-1), or in windows
 * outside of them (-2). */
static uint64_t sum_calls(const struct report *r, const char *name, int f)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        const struct report_counter *c = find(k, name);
        if (c != NULL)
            n += f >= 0    ? k->functions[f].counted[c - k->counters]
                 : f == -1 ? c->in_mpi
                           : c->count - c->in_mpi;
    }
    return n;
}

static void print_calls_row(FILE *out, const struct report *r, const struct report_rank *names,
                            const char *what, int f)
{
    (void)fprintf(out, "  %-28s", what);
    for (size_t c = 0; c < names->counter_count; c++)
        (void)fprintf(out, " %16llu", (unsigned long long)sum_calls(r, names->counters[c].name, f));
    (void)fputc('\n', out);
}

struct counter_order {
    const struct report *r;
    const char *name; /* of the event to sort by */
};

static int by_count(const void *a, const void *b, void *ctx)
{
    const struct counter_order *o = ctx;
    uint64_t x = sum_calls(o->r, o->name, *(const int *)a),
             y = sum_calls(o->r, o->name, *(const int *)b);
    return x < y ? 1 : x > y ? -1 : *(const int *)a - *(const int *)b;
}

/* `names`: a rank that has all events. */
static void print_calls(FILE *out, const struct report *r, const struct report_rank *names,
                        size_t top)
{
    int functions[REPORT_FUNCTIONS];
    size_t n = 0;
    for (int f = 0; f < REPORT_FUNCTIONS; f++)
        for (size_t c = 0; r->names[f] != NULL && c < names->counter_count; c++)
            if (sum_calls(r, names->counters[c].name, f) != 0) {
                functions[n++] = f;
                break;
            }
    struct counter_order o = {r, names->counters[0].name};
    qsort_r(functions, n, sizeof *functions, by_count, &o);
    (void)fprintf(out, "\nEvents counted in MPI calls\n  %-28s", "function");
    for (size_t c = 0; c < names->counter_count; c++)
        (void)fprintf(out, " %16.16s", names->counters[c].name);
    (void)fputc('\n', out);
    for (size_t i = 0; i < n && (top == 0 || i < top); i++)
        print_calls_row(out, r, names, r->names[functions[i]], functions[i]);
    if (top != 0 && n > top)
        (void)fprintf(out, "  ... %zu more functions (-top 0 shows all)\n", n - top);
    print_calls_row(out, r, names, "all of MPI (outermost calls)", -1);
    if (uncounted(r) == 0)
        print_calls_row(out, r, names, "outside of MPI", -2);
}

static const struct report_rank *most_events(const struct report *r)
{
    const struct report_rank *found = &r->ranks[0];
    for (size_t i = 1; i < r->rank_count; i++)
        if (r->ranks[i].counter_count > found->counter_count)
            found = &r->ranks[i];
    return found;
}

/* Returns the rank that counted the most events in MPI calls, or NULL. */
static const struct report_rank *counted_calls(const struct report *r)
{
    const struct report_rank *found = NULL;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->counter_count > 0 && k->counters[0].calls > 0 &&
            (found == NULL || k->counter_count > found->counter_count))
            found = k;
    }
    return found;
}

void report_counters_json_calls(struct json *j, const struct report_rank *k,
                                const struct report_calls *c)
{
    if (k->counter_count == 0 || k->counters[0].calls == 0)
        return;
    json_object_begin(j, "counted");
    for (size_t i = 0; i < k->counter_count; i++)
        json_uint(j, k->counters[i].name, c->counted[i]);
    json_object_end(j);
}

/* --- all counts ------------------------------------------------------------------------------- */

void report_counters_print(FILE *out, const struct report *r, size_t top)
{
    bool headed = false;
    for (size_t i = 0; i < r->rank_count; i++)
        for (size_t c = 0; c < r->ranks[i].counter_count; c++) {
            const char *name = r->ranks[i].counters[c].name;
            size_t before = 0;
            while (before < i && find(&r->ranks[before], name) == NULL)
                before++;
            if (before < i)
                continue; /* an earlier rank has it: already printed */
            if (!headed)
                (void)fprintf(out,
                              "\nEvents counted in windows, in user mode\n  %-28s %16s %16s %16s "
                              "%6s\n",
                              "event", "total", "mean/rank", "most", "rank");
            headed = true;
            print_counter(out, r, name);
        }
    if (!headed)
        return;
    uint64_t missing = uncounted(r);
    if (missing > 0)
        (void)fprintf(out,
                      "  not in these: what was counted in %llu windows that have no end (killed, "
                      "full, or open still)\n",
                      (unsigned long long)missing);
    report_rates_print(out, r, most_events(r));
    const struct report_rank *calls = counted_calls(r);
    if (calls != NULL)
        print_calls(out, r, calls, top);
}

void report_counters_json(struct json *j, const struct report_rank *k)
{
    json_array_begin(j, "counters");
    for (size_t i = 0; i < k->counter_count; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_text(j, "event", k->counters[i].name);
        json_uint(j, "count", k->counters[i].count);
        json_uint(j, "windows", k->counters[i].windows);
        json_uint(j, "running_per_mille", k->counters[i].running);
        json_uint_if(j, "in_mpi", k->counters[i].calls > 0, k->counters[i].in_mpi);
        report_rates_json_event(j, k, 1, k->counters[i].name);
        json_object_end(j);
    }
    json_array_end(j);
    report_rates_json(j, k, 1);
}
