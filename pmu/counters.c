/* SPDX-License-Identifier: BSD-3-Clause
 * Events that are counted all the time and read at the edges of windows. */
#include "pmu/backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int bad(struct rt_error *err, const char *text, const char *what, size_t length,
               const char *why)
{
    rt_error_set(
        err,
        "REGTRACE_EVENTS (option -events) is \"%s\": \"%.*s\" %s; legal are up to %d of "
        "instructions, cycles, cache-misses, branch-misses, page-faults ..., rHEX, and names of "
        "PAPI (PAPI_L1_DCM) and libpfm4, with commas",
        text, (int)(length < 64 ? length : 64), what, why, PMU_COUNTERS);
    return -EINVAL;
}

/* Adds an event. Returns false if there is no room for its counters. */
static bool add(struct pmu_counter_set *set, const struct pmu_event *event)
{
    if (set->count == PMU_COUNTERS || event->count > PMU_COUNTERS - set->counters)
        return false;
    for (unsigned c = 0; c < event->count; c++)
        set->counter[set->counters++] = (struct pmu_counter){
            .code = event->code[c], .sign = event->sign[c], .event = (unsigned char)set->count};
    (void)snprintf(set->name[set->count], PMU_NAME, "%s", event->name);
    pmu_event_describe(event, set->meaning[set->count], sizeof set->meaning[0]);
    set->count++;
    return true;
}

int pmu_counters_parse(const char *text, struct pmu_counter_set *set, struct rt_error *err)
{
    *set = (struct pmu_counter_set){0};
    pmu_events_expect(text);
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, ",");
        struct pmu_event event;
        struct rt_error why = {{0}};
        if (!pmu_event_find(at, n, &event, &why)) {
            rt_error_prefix(&why, "is no event that can be counted here");
            return bad(err, text, at, n, why.text);
        }
        for (unsigned i = 0; i < set->count; i++)
            if (strcmp(set->name[i], event.name) == 0)
                return bad(err, text, at, n, "is there twice");
        if (!add(set, &event))
            return bad(err, text, at, n,
                       event.count > 1 ? "is one too many (it takes several counters)"
                                       : "is one too many");
        at += n + (at[n] == ',');
        if (at[-1] == ',' && *at == '\0')
            return bad(err, text, "", 0, "stands after the last comma");
    }
    return 0;
}

static struct perf_event_attr counter_of(const struct pmu_counter_set *set, unsigned i)
{
    struct perf_event_attr attr = pmu_perf_attr(set->counter[i].code);
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return attr;
}

/* Returns whether the event needs one of the core's counters, of which there may be too few.
 * Software events and events of other units do not. */
static bool shares(uint32_t type)
{
    return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

/* The kernel accepts a group only if it can count the whole group at once. */
static int probe_together(const struct perf_event_attr *all, unsigned count)
{
    int fd[PMU_COUNTERS + 2], rc = 0;
    unsigned n = 0;
    for (unsigned i = 0; i < count && rc == 0; i++) {
        if (!shares(all[i].type))
            continue;
        int one = pmu_perf_open_in(all[i], n == 0 ? -1 : fd[0]);
        if (one < 0)
            rc = one;
        else
            fd[n++] = one;
    }
    while (n > 0)
        pmu_perf_close(fd[--n]);
    return rc;
}

int pmu_counters_probe(const struct pmu_counter_set *set, const struct pmu_backend *backend,
                       const struct pmu_sample_spec *sampled, struct rt_error *err)
{
    struct perf_event_attr all[PMU_COUNTERS + 2];
    unsigned n = 0;
    for (unsigned i = 0; i < set->counters; i++) {
        all[n++] = counter_of(set, i);
        int rc = pmu_perf_try(all[i]);
        if (rc != 0) {
            struct rt_error why = {{0}};
            pmu_perf_explain(rc, all[i].type, &why);
            rt_error_set(err, "%s cannot be counted: %s", set->name[set->counter[i].event],
                         why.text);
            return rc;
        }
    }
    if (n == 0)
        return 0;
    bool counts = backend != NULL && backend->kernels,
         samples = sampled != NULL && sampled->period != 0 && !sampled->by_time;
    if (counts)
        all[n++] = pmu_perf_instructions();
    if (samples)
        all[n++] = pmu_perf_attr(sampled->code);
    int rc = probe_together(all, n);
    if (rc != 0)
        rt_error_set(err,
                     "REGTRACE_EVENTS (option -events): this processor cannot count all of these "
                     "at once%s%s%s (%s): it has too few counters, or two of them need the same "
                     "one; leave some out, or count them in several runs",
                     counts || samples ? ", beside" : "", counts ? " instructions for icounts" : "",
                     samples ? counts ? " and what is sampled" : " what is sampled" : "",
                     strerror(-rc));
    return rc;
}

uint64_t pmu_counters_between(const struct pmu_counter_set *set, const struct pmu_counters *c,
                              unsigned event, const struct pmu_reading before[PMU_COUNTERS],
                              const struct pmu_reading after[PMU_COUNTERS], uint32_t *per_mille)
{
    int64_t sum = 0;
    *per_mille = 1000;
    for (unsigned i = 0; i < c->count; i++) {
        if (set->counter[i].event != event)
            continue;
        uint64_t enabled = after[i].enabled - before[i].enabled;
        uint64_t running = after[i].running - before[i].running;
        uint64_t mille = c->fd[i] < 0 ? 0 : running >= enabled ? 1000 : running * 1000 / enabled;
        sum += set->counter[i].sign * (int64_t)(after[i].value - before[i].value);
        *per_mille = mille < *per_mille ? (uint32_t)mille : *per_mille;
    }
    /* A difference of counters that are read one after the other may be negative. */
    return sum > 0 ? (uint64_t)sum : 0;
}

int pmu_counters_begin(struct pmu_counters *c, const struct pmu_counter_set *set)
{
    int rc = 0;
    for (unsigned i = 0; i < set->counters; i++) {
        struct perf_event_attr attr = pmu_direct_attr(counter_of(set, i));
        c->fd[i] = pmu_perf_open_high(attr);
        pmu_direct_begin(&c->direct[i], c->fd[i], &attr);
        rc = c->fd[i] < 0 ? c->fd[i] : rc;
    }
    c->count = set->counters;
    return rc;
}

void pmu_counters_end(struct pmu_counters *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        pmu_direct_end(&c->direct[i]);
        if (c->fd[i] >= 0)
            pmu_perf_close(c->fd[i]);
    }
    c->count = 0;
}

void pmu_counters_read(const struct pmu_counters *c, struct pmu_reading out[PMU_COUNTERS])
{
    for (unsigned i = 0; i < c->count; i++) {
        out[i] = (struct pmu_reading){0};
        if (c->fd[i] >= 0)
            pmu_event_read(c->fd[i], &c->direct[i], &out[i]);
    }
}
