/* SPDX-License-Identifier: BSD-3-Clause
 * Rates of what REGTRACE_EVENTS counted in windows: per second, per 1000 instructions, per cycle.
 *
 * The name of an event tells what it counts: the kernel's, PAPI's and libpfm4's names
 * ("perf::L1-DCACHE-LOAD-MISSES", "arm_ac57::L2D_CACHE_REFILL"). */
#include "tools/report/report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Writes the name without its table, in small letters, with '-' between words. Unless `whole`,
 * omits what follows a ':'. */
static void plain_name(char out[128], const char *name, bool whole)
{
    const char *table = strstr(name, "::");
    size_t n = 0;
    name = table != NULL ? table + 2 : name;
    if (strncmp(name, "PERF_COUNT_HW_", 14) == 0)
        name += 14;
    for (; *name != '\0' && (whole || *name != ':') && n < 127; name++)
        out[n++] = *name == '_' ? '-' : (char)tolower((unsigned char)*name);
    out[n] = '\0';
}

static bool is_one_of(const char *name, const char *const *names)
{
    char plain[128];
    plain_name(plain, name, false);
    for (; *names != NULL; names++)
        if (strcmp(plain, *names) == 0)
            return true;
    return false;
}

static const char *const instructions[] = {"instructions",
                                           "papi-tot-ins",
                                           "inst-retired",
                                           "instruction-retired",
                                           "instructions-retired",
                                           "retired-instructions",
                                           NULL};
static const char *const cycles[] = {"cycles",
                                     "cpu-cycles",
                                     "papi-tot-cyc",
                                     "cpu-clk-unhalted",
                                     "unhalted-core-cycles",
                                     "cycles-not-in-halt",
                                     NULL};
static const char *const branches[] = {"branches", "branch-instructions", "papi-br-ins", NULL};
static const char *const branch_misses[] = {"branch-misses", "papi-br-msp", NULL};

bool report_event_is_cycles(const char *name)
{
    return is_one_of(name, cycles);
}

bool report_event_is_instructions(const char *name)
{
    return is_one_of(name, instructions);
}

/* PAPI's presets that end in M and count misses: papi_avail(1). */
static bool is_papi_miss(const char *plain)
{
    static const char *const names[] = {"papi-br-msp", "papi-tlb-dm", "papi-tlb-im",
                                        "papi-tlb-tl", "papi-prf-dm", NULL};
    static const char *const caches[] = {"dcm", "icm", "tcm", "ldm", "stm", NULL};
    if (is_one_of(plain, names))
        return true;
    if (strncmp(plain, "papi-l", 6) != 0 || plain[6] < '1' || plain[6] > '3' || plain[7] != '-')
        return false;
    return is_one_of(plain + 8, caches);
}

bool report_event_is_miss(const char *name)
{
    char plain[128];
    plain_name(plain, name, true);
    if (strncmp(plain, "papi-", 5) == 0)
        return is_papi_miss(plain);
    /* Cycles during which misses are pending are not misses. Arm calls a miss a refill. */
    return (strstr(plain, "miss") != NULL || strstr(plain, "refill") != NULL ||
            strstr(plain, "mispred") != NULL || strstr(plain, "mis-pred") != NULL) &&
           strstr(plain, "cycles") == NULL && strstr(plain, "stall") == NULL;
}

static const struct report_counter *counter_of(const struct report_rank *k, const char *name)
{
    for (size_t i = 0; i < k->counter_count; i++)
        if (strcmp(k->counters[i].name, name) == 0)
            return &k->counters[i];
    return NULL;
}

struct amount {
    double count, timed, ns; /* timed: in windows whose length is known, ns in sum */
};

/* Sums an event over the ranks that have it. */
static struct amount amount_of(const struct report_rank *ranks, size_t n, const char *name)
{
    struct amount sum = {0};
    for (size_t i = 0; i < n; i++) {
        const struct report_counter *c = counter_of(&ranks[i], name);
        sum.count += c != NULL ? (double)c->count : 0.0;
        sum.timed += c != NULL ? c->timed.count : 0.0;
        sum.ns += c != NULL ? c->timed.ns : 0.0;
    }
    return sum;
}

/* Returns the first event with one of these names that any rank has, or NULL. */
static const char *event_of(const struct report_rank *ranks, size_t n, const char *const *names)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < ranks[i].counter_count; c++)
            if (is_one_of(ranks[i].counters[c].name, names))
                return ranks[i].counters[c].name;
    return NULL;
}

static double ratio(const struct report_rank *ranks, size_t n, const char *const *what,
                    const char *const *of)
{
    const char *a = event_of(ranks, n, what), *b = event_of(ranks, n, of);
    double below = b != NULL ? amount_of(ranks, n, b).count : 0;
    return a != NULL && below > 0 ? amount_of(ranks, n, a).count / below : NAN;
}

double report_per_second(const struct report_rank *ranks, size_t n, const char *event)
{
    struct amount a = amount_of(ranks, n, event);
    return a.ns > 0 ? a.timed / a.ns * 1e9 : NAN;
}

double report_per_1000(const struct report_rank *ranks, size_t n, const char *event)
{
    const char *all = event_of(ranks, n, instructions);
    double executed = all != NULL ? amount_of(ranks, n, all).count : 0;
    return report_event_is_miss(event) && executed > 0
               ? 1000 * amount_of(ranks, n, event).count / executed
               : NAN;
}

static double hertz(const struct report_rank *ranks, size_t n)
{
    const char *event = event_of(ranks, n, cycles);
    return event != NULL ? report_per_second(ranks, n, event) : NAN;
}

static void print_line(FILE *out, const char *text, double value)
{
    if (!isnan(value))
        (void)fprintf(out, "  %-28s %16.3f\n", text, value);
}

void report_rates_print(FILE *out, const struct report *r, const struct report_rank *names)
{
    const struct report_rank *ranks = r->ranks;
    size_t n = r->rank_count;
    bool any = false;
    print_line(out, "instructions per cycle", ratio(ranks, n, instructions, cycles));
    print_line(out, "cycles per second, GHz", hertz(ranks, n) / 1e9);
    print_line(out, "branch misses, %", 100 * ratio(ranks, n, branch_misses, branches));
    (void)fputs("\nRates in windows (second: of a thread in its windows; misses per 1000 "
                "instructions where these are counted)\n",
                out);
    (void)fprintf(out, "  %-28s %16s %16s\n", "event", "per second", "per 1000 instr.");
    for (size_t c = 0; c < names->counter_count; c++) {
        const char *event = names->counters[c].name;
        double second = report_per_second(ranks, n, event),
               misses = report_per_1000(ranks, n, event);
        char a[32] = "-", b[32] = "-";
        if (!isnan(second))
            (void)snprintf(a, sizeof a, "%.6g", second);
        if (!isnan(misses))
            (void)snprintf(b, sizeof b, "%.3f", misses);
        any |= !isnan(second);
        (void)fprintf(out, "  %-28s %16s %16s\n", event, a, b);
    }
    if (!any)
        (void)fputs("  no window that was counted has an end\n", out);
}

static void number(struct json *j, const char *key, double value)
{
    if (isnan(value))
        json_null(j, key);
    else
        json_real(j, key, value);
}

void report_rates_json_event(struct json *j, const struct report_rank *ranks, size_t n,
                             const char *event)
{
    number(j, "per_second", report_per_second(ranks, n, event));
    number(j, "per_1000_instructions", report_per_1000(ranks, n, event));
}

void report_rates_json(struct json *j, const struct report_rank *ranks, size_t n)
{
    json_object_begin(j, "rates");
    json_compact(j);
    number(j, "instructions_per_cycle", ratio(ranks, n, instructions, cycles));
    number(j, "cycles_per_second", hertz(ranks, n));
    number(j, "branch_misses_percent", 100 * ratio(ranks, n, branch_misses, branches));
    json_object_end(j);
}
