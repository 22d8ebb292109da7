/* SPDX-License-Identifier: BSD-3-Clause
 * Counting of a thread's own user-mode instructions, with an interrupt when a count is reached, behind one interface.
 *
 * pmu_choose() runs before main and may allocate. Everything else runs on the thread concerned, in signal handlers too: it
 * allocates nothing and calls nothing but raw system calls. Counts are absolute for the thread, from pmu_thread_begin()
 * on, without what was taken out by pmu_thread_exclude(). Sources: perf_event_open(2); Weaver, "Non-determinism and
 * overcount on modern hardware performance counters", 2013, for what such counts are worth. */
#ifndef REGTRACE_PMU_PMU_H
#define REGTRACE_PMU_PMU_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMU_NEVER UINT64_MAX

struct pmu_thread;

struct pmu_backend {
    const char *name; /* as REGTRACE_PMU has it */
    /* 0, or -errno with the reason and the remedy. */
    int (*probe)(struct rt_error *err);
    /* signo goes to the thread kernel_tid at each overflow. 0 or -errno. */
    int (*begin)(struct pmu_thread *t, int signo, uint32_t kernel_tid);
    void (*end)(struct pmu_thread *t);
    uint64_t (*read)(const struct pmu_thread *t); /* raw: nothing taken out */
    void (*set)(struct pmu_thread *t,
                uint64_t distance); /* interrupt after so many more, PMU_NEVER: none */
};

/* Of one thread; zero before pmu_thread_begin(). */
struct pmu_thread {
    const struct pmu_backend *backend; /* NULL: this thread is not counted */
    uint64_t excluded;                 /* instructions that were ours */
    uint64_t target;                   /* absolute count of the next interrupt, PMU_NEVER */
    int fd;                            /* perf */
};

/* `wanted`: auto, perf, none (papi and step: refused, not built yet). 0 and *backend, NULL with none; else -EINVAL for an
 * unknown name, or the reason why this machine cannot count, with the remedy. */
int pmu_choose(const char *wanted, const struct pmu_backend **backend,
               struct rt_error *err) RT_MUST_CHECK;

/* Begin to count on the calling thread. */
int pmu_thread_begin(struct pmu_thread *t, const struct pmu_backend *backend, int signo,
                     uint32_t kernel_tid);
void pmu_thread_end(struct pmu_thread *t);
/* In the child of fork: the parent's counter is not the child's. Counts go on from where the parent's stood. */
void pmu_thread_forked(struct pmu_thread *t, int signo, uint32_t kernel_tid);

/* The count now; PMU_NEVER where the thread is not counted. */
uint64_t pmu_thread_count(const struct pmu_thread *t);

/* What has been executed since `since`, a pmu_thread_count(), was ours. */
void pmu_thread_exclude(struct pmu_thread *t, uint64_t since);

/* Interrupt at `target` (or as soon as possible where it is past), PMU_NEVER: not at all. Replaces the one before. */
void pmu_thread_arm(struct pmu_thread *t, uint64_t target);

/* Is this signal the overflow of this thread's counter? */
bool pmu_is_overflow(const struct pmu_thread *t, const siginfo_t *info);

#endif
