/* SPDX-License-Identifier: BSD-3-Clause
 * Controls how often a thread is sampled: samples and their signals may take about half of its
 * time. Called on the thread, in the sampler's handler. */
#ifndef REGTRACE_PRELOAD_COUNT_PACE_H
#define REGTRACE_PRELOAD_COUNT_PACE_H

#include "pmu/pmu.h"

/* Measurements of a thread's samples since pace_end() last read the clocks (`looked`). All zero
 * before the sampler first runs. began, ended: times of the latest sample; spent: ticks within
 * samples. */
struct pace {
    uint32_t samples;
    uint64_t began, ended, spent; /* ticks */
    uint64_t usual;               /* ticks of a sample, on average; 0: unknown */
    uint64_t usually_spent;       /* as `spent`, without the time by which samples were too long */
    uint64_t ns_per_tick;         /* times 2^16; 0: unknown */
    struct pace_time {
        uint64_t ticks, ns, cpu_ns;
    } looked; /* ns 0: no look since the sampler began to run */
};

/* The sampler begins to run, or halts: the time between is not its own. */
static inline void pace_restart(struct pace *p)
{
    p->looked.ns = 0;
}

/* A sample begins, and ends with pace_end(): every few samples, its period becomes longer or
 * shorter by pmu_sampler_pace(). */
void pace_begin(struct pace *p);
/* Leaves these ticks out of the current sample: the thread waited that long for something that
 * later samples do not wait for, such as a helper's answer. */
void pace_exclude(struct pace *p, uint64_t ticks);
/* Returns how many periods this sample stands for: `weight`, but for a lengthened clock no more
 * than have begun since the last sample ended. The kernel may have sent the signal before the
 * period became longer; it then stands for shorter periods. */
uint32_t pace_weight(const struct pace *p, const struct pmu_sampler *s, uint32_t weight);
void pace_end(struct pace *p, struct pmu_sampler *s);

#endif
