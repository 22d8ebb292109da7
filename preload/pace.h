/* SPDX-License-Identifier: BSD-3-Clause
 * How often a thread is sampled: samples and the signals that they come by may take half of its time, about. On the thread, in the
 * sampler's handler. */
#ifndef REGTRACE_PRELOAD_PACE_H
#define REGTRACE_PRELOAD_PACE_H

#include "pmu/pmu.h"

/* Since the last look at it: so many samples, which took so many ticks; and when that was, by all clocks. Zero: the sampler has not run. */
struct pace {
    uint32_t samples;
    uint64_t began, spent; /* ticks */
    struct pace_time {
        uint64_t ticks, ns, cpu_ns;
    } looked; /* ns 0: not since the sampler runs */
};

/* The sampler begins to run, or halts: what lies between is not its time. */
static inline void pace_restart(struct pace *p)
{
    p->looked.ns = 0;
}

/* A sample begins; and ends: every few samples its period is made longer or shorter, by pmu_sampler_pace(). */
void pace_begin(struct pace *p);
void pace_end(struct pace *p, struct pmu_sampler *s);

#endif
