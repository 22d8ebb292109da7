/* SPDX-License-Identifier: BSD-3-Clause
 * What REGTRACE_EVENTS counted in windows, per rank and over all, and the rates that follow. */
#include "tools/report.h"

#include <string.h>

void report_counters_take(struct report_rank *k, const struct rt_rank *rank,
                          const struct rt_event *ev)
{
    const char *name = rt_rank_string(rank, (uint32_t)ev->a);
    uint32_t running = (uint32_t)(ev->a >> 32);
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
    c->count += ev->b;
    c->windows++;
    c->running = running < c->running ? running : c->running;
}

static const struct report_counter *find(const struct report_rank *k, const char *name)
{
    for (size_t i = 0; i < k->counter_count; i++)
        if (strcmp(k->counters[i].name, name) == 0)
            return &k->counters[i];
    return NULL;
}

/* Over all ranks. False: nobody counted it. */
static bool sum(const struct report *r, const char *name, double *total)
{
    bool found = false;
    *total = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_counter *c = find(&r->ranks[i], name);
        found |= c != NULL;
        *total += c != NULL ? (double)c->count : 0.0;
    }
    return found;
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

static void print_rate(FILE *out, const struct report *r, const char *what, const char *of,
                       double times, const char *text)
{
    double a, b;
    if (sum(r, what, &a) && sum(r, of, &b) && b > 0)
        (void)fprintf(out, "  %-28s %16.3f\n", text, times * a / b);
}

void report_counters_print(FILE *out, const struct report *r)
{
    bool headed = false;
    for (size_t i = 0; i < r->rank_count; i++)
        for (size_t c = 0; c < r->ranks[i].counter_count; c++) {
            const char *name = r->ranks[i].counters[c].name;
            size_t before = 0;
            while (before < i && find(&r->ranks[before], name) == NULL)
                before++;
            if (before < i)
                continue; /* an earlier rank has it: shown already */
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
    print_rate(out, r, "instructions", "cycles", 1, "instructions per cycle");
    print_rate(out, r, "PAPI_TOT_INS", "PAPI_TOT_CYC", 1, "instructions per cycle");
    print_rate(out, r, "cache-misses", "instructions", 1000, "cache misses / 1000 instr.");
    print_rate(out, r, "branch-misses", "branches", 100, "branch misses, %");
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
        json_object_end(j);
    }
    json_array_end(j);
}
