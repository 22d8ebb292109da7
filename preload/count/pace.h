/* SPDX-License-Identifier: BSD-3-Clause
 * How often a thread is sampled: samples and the signals that they come by may take half of its time, about. On the thread, in the
 * sampler's handler. */
#ifndef REGTRACE_PRELOAD_COUNT_PACE_H
#define REGTRACE_PRELOAD_COUNT_PACE_H

#include "pmu/pmu.h"

/* Since the last look at it: so many samples, which took so many ticks; and when that was, by all clocks. Zero: the sampler has not run. */
struct pace {
    uint32_t samples;
    uint64_t began, ended, spent; /* ticks */
    uint64_t ns_per_tick;         /* times 2^16; 0: not known yet */
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
/* Ticks since then that the thread waited, and for once: they are not the samples'. */
void pace_exclude(struct pace *p, uint64_t ticks);
/* So many periods it may stand for, of these: a signal that was on its way when the period became longer is of a shorter one. */
uint32_t pace_weight(const struct pace *p, const struct pmu_sampler *s, uint32_t weight);
void pace_end(struct pace *p, struct pmu_sampler *s);

#endif
