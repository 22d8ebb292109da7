/* SPDX-License-Identifier: BSD-3-Clause
 * Events counted in windows: one record a counter at each window's end. */
#include "preload/counters.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

static struct pmu_counter_set set;
static char names[PMU_COUNTERS][32];

int counters_prepare(struct rt_error *e)
{
    int rc = pmu_counters_parse(process.options.text[OPT_events], &set, e);
    if (rc == 0)
        rc = pmu_counters_probe(process.options.text[OPT_events], &set, e);
    if (rc != 0)
        set.count = 0;
    const char *at = process.options.text[OPT_events];
    for (unsigned i = 0; i < set.count; i++) {
        size_t n = strcspn(at, ",");
        (void)snprintf(names[i], sizeof names[i], "%.*s", (int)n, at);
        at += n + (at[n] == ',');
    }
    return rc;
}

bool counters_are_on(void)
{
    return set.count != 0;
}

void counters_opened(struct preload_thread *pt)
{
    static _Atomic bool said;
    if (set.count == 0)
        return;
    if (pt->counters.count == 0 && pmu_counters_begin(&pt->counters, &set) != 0 &&
        !atomic_exchange(&said, true))
        log_line(LOG_ERROR, "a thread has not all its counters of REGTRACE_EVENTS: those that are "
                            "missing read 0 (out of file descriptors, or of counters?)");
    pmu_counters_read(&pt->counters, pt->counted);
}

void counters_closed(struct recorder_thread *t, const struct preload_thread *pt)
{
    struct pmu_reading now[PMU_COUNTERS];
    if (pt->counters.count == 0)
        return;
    pmu_counters_read(&pt->counters, now);
    for (unsigned i = 0; i < pt->counters.count; i++) {
        uint64_t enabled = now[i].enabled - pt->counted[i].enabled;
        uint64_t running = now[i].running - pt->counted[i].running;
        uint64_t mille = pt->counters.fd[i] < 0 ? 0
                         : running >= enabled   ? 1000
                                                : running * 1000 / enabled;
        (void)recorder_emit(t, EV_COUNTER,
                            stream_string_id(&recorder_stream, names[i]) | mille << 32,
                            now[i].value - pt->counted[i].value);
    }
}
