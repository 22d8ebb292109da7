/* SPDX-License-Identifier: BSD-3-Clause
 * The back ends, for pmu/ alone. */
#ifndef REGTRACE_PMU_INTERNAL_H
#define REGTRACE_PMU_INTERNAL_H

#include "pmu/pmu.h"

#include <linux/perf_event.h>

extern const struct pmu_backend pmu_perf, pmu_step, pmu_late;

/* Skids of 0 to `maximum` instructions, by that seed. */
void pmu_late_prepare(uint64_t seed, uint64_t maximum);

/* An event of perf_event_open(2). */
struct pmu_event {
    const char *name;
    uint32_t type;
    uint64_t config;
};
/* A name of the table in names.c, or rHEX. */
bool pmu_event_find(const char *text, size_t length, struct pmu_event *out);

/* An event of the calling thread's own, in user mode; attr says which, its size and what it leaves out are filled in. A
 * descriptor or -errno. */
int pmu_perf_open(struct perf_event_attr attr);
/* Likewise, to keep: out of the program's way. */
int pmu_perf_open_high(struct perf_event_attr attr);
/* Likewise; each overflow becomes this signal to this thread. */
int pmu_perf_open_signalling(struct perf_event_attr attr, int signo, uint32_t kernel_tid);
void pmu_perf_close(int fd);
/* Why perf_event_open failed with err, and the remedy. */
void pmu_perf_explain(int err, struct rt_error *e);

#endif
