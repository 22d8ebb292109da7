/* SPDX-License-Identifier: BSD-3-Clause
 * Interrupts of a thread at a regular distance of its own: so much CPU time, or so many of a counted event.
 *
 * pmu_sample_parse() and pmu_sample_probe() run before main. Everything else runs on the thread concerned, in signal handlers
 * too: nothing allocates, and only raw system calls are made. Sources: timer_create(2), CLOCK_THREAD_CPUTIME_ID;
 * perf_event_open(2), whose generic names these are. */
#ifndef REGTRACE_PMU_SAMPLER_H
#define REGTRACE_PMU_SAMPLER_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What REGTRACE_SAMPLE asks for. */
struct pmu_sample_spec {
    uint64_t period; /* ns of CPU time, or events; 0: nothing is sampled */
    uint64_t config; /* of struct perf_event_attr */
    uint32_t type;   /* likewise */
    bool by_time;
    const char *unit; /* "ns of CPU time", or the event's name */
};

/* Of one thread; zero before pmu_sampler_begin(). */
struct pmu_sampler {
    bool made;
    int id; /* the kernel's: of the timer, or the descriptor */
    const struct pmu_sample_spec *spec;
};

/* "EVENT:PERIOD", "" for none. -EINVAL with the text, which names what is legal. */
RT_MUST_CHECK int pmu_sample_parse(const char *text, struct pmu_sample_spec *spec,
                                   struct rt_error *err);

/* Can it be had here? 0, or -errno with the reason and the remedy. */
RT_MUST_CHECK int pmu_sample_probe(const struct pmu_sample_spec *spec, struct rt_error *err);

/* On the calling thread; it does not run yet. A timer's signal carries `code` in si_value. 0 or -errno. */
RT_MUST_CHECK int pmu_sampler_begin(struct pmu_sampler *s, const struct pmu_sample_spec *spec,
                                    int signo, int code, uint32_t kernel_tid);
/* Running from the full period on, or halted. */
void pmu_sampler_run(const struct pmu_sampler *s, bool on);
void pmu_sampler_end(struct pmu_sampler *s);
/* In the child of fork: timers are not inherited, descriptors are. */
void pmu_sampler_forked(struct pmu_sampler *s);

/* Is this a signal of its event (not of its timer, which its code tells)? */
bool pmu_sampler_is_overflow(const struct pmu_sampler *s, const siginfo_t *info);
/* How many periods one signal stands for: those that ended before it was delivered are counted with it. */
uint32_t pmu_sampler_weight(const struct pmu_sampler *s, const siginfo_t *info);

#endif
