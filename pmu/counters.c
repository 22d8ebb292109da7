/* SPDX-License-Identifier: BSD-3-Clause
 * Events that are counted all the time and read at the edges of windows. */
#include "pmu/internal.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

static int bad(struct rt_error *err, const char *text, const char *what, size_t length,
               const char *why)
{
    rt_error_set(
        err,
        "REGTRACE_EVENTS (option -events) is \"%s\": \"%.*s\" %s; legal are up to %d of "
        "instructions, cycles, cache-misses, branch-misses, page-faults ... or rHEX, with commas",
        text, (int)(length < 64 ? length : 64), what, why, PMU_COUNTERS);
    return -EINVAL;
}

int pmu_counters_parse(const char *text, struct pmu_counter_set *set, struct rt_error *err)
{
    *set = (struct pmu_counter_set){0};
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, ",");
        struct pmu_event event;
        if (!pmu_event_find(at, n, &event))
            return bad(err, text, at, n, "is no event");
        if (set->count == PMU_COUNTERS)
            return bad(err, text, at, n, "is one too many");
        set->type[set->count] = event.type;
        set->config[set->count++] = event.config;
        at += n + (at[n] == ',');
        if (at[-1] == ',' && *at == '\0')
            return bad(err, text, "", 0, "stands behind the last comma");
    }
    return 0;
}

static struct perf_event_attr counter_of(const struct pmu_counter_set *set, unsigned i)
{
    return (struct perf_event_attr){.type = set->type[i],
                                    .config = set->config[i],
                                    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                   PERF_FORMAT_TOTAL_TIME_RUNNING};
}

int pmu_counters_probe(const char *text, const struct pmu_counter_set *set, struct rt_error *err)
{
    const char *at = text;
    for (unsigned i = 0; i < set->count; i++) {
        size_t n = strcspn(at, ",");
        int fd = pmu_perf_open(counter_of(set, i));
        if (fd < 0) {
            struct rt_error why = {{0}};
            pmu_perf_explain(fd, &why);
            rt_error_set(err, "%.*s cannot be counted: %s", (int)(n < 64 ? n : 64), at, why.text);
            return fd;
        }
        pmu_perf_close(fd);
        at += n + (at[n] == ',');
    }
    return 0;
}

int pmu_counters_begin(struct pmu_counters *c, const struct pmu_counter_set *set)
{
    int rc = 0;
    for (unsigned i = 0; i < set->count; i++) {
        c->fd[i] = pmu_perf_open_high(counter_of(set, i));
        rc = c->fd[i] < 0 ? c->fd[i] : rc;
    }
    c->count = set->count;
    return rc;
}

void pmu_counters_end(struct pmu_counters *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (c->fd[i] >= 0)
            pmu_perf_close(c->fd[i]);
    c->count = 0;
}

void pmu_counters_read(const struct pmu_counters *c, struct pmu_reading out[PMU_COUNTERS])
{
    for (unsigned i = 0; i < c->count; i++) {
        out[i] = (struct pmu_reading){0};
        if (c->fd[i] >= 0)
            (void)sys_call6(SYS_read, c->fd[i], (long)&out[i], sizeof out[i], 0, 0, 0);
    }
}
