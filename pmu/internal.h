/* SPDX-License-Identifier: BSD-3-Clause
 * The back ends, for pmu/ alone. */
#ifndef REGTRACE_PMU_INTERNAL_H
#define REGTRACE_PMU_INTERNAL_H

#include "pmu/pmu.h"

#include <linux/perf_event.h>

extern const struct pmu_backend pmu_perf, pmu_papi, pmu_step, pmu_late;

/* Skids of 0 to `maximum` instructions, by that seed. */
void pmu_late_prepare(uint64_t seed, uint64_t maximum);

/* What an event is for the kernel: codes that are added up, each with its sign. */
#define PMU_PARTS 4u
struct pmu_event {
    char name[PMU_NAME];
    const char *source; /* who knows it: kernel, PAPI, libpfm4 */
    char meaning[256];  /* the processor's events that it is made of */
    unsigned count;
    struct pmu_code code[PMU_PARTS];
    signed char sign[PMU_PARTS];
};
/* By its name; where it cannot be had *why says why not. May start regtrace-events. */
bool pmu_event_find(const char *text, size_t length, struct pmu_event *out, struct rt_error *why);
/* These will be looked for ("EVENT,EVENT..."): asked for all at once. */
void pmu_events_expect(const char *list);
/* "PAPI: arm_ac57::INST_RETIRED (type 4 config 0x8)" */
void pmu_event_describe(const struct pmu_event *e, char *out, size_t room);

struct perf_event_attr pmu_perf_attr(struct pmu_code code);
/* What the chosen back end, perf or papi, counts. */
struct perf_event_attr pmu_perf_instructions(void);
/* An event of the calling thread's own, in user mode; attr says which, its size and what it leaves out are filled in. A
 * descriptor or -errno. */
int pmu_perf_open(struct perf_event_attr attr);
/* In a group of events that are counted together; -1: of its own. */
int pmu_perf_open_in(struct perf_event_attr attr, int group);
/* Likewise, to keep: out of the program's way. */
int pmu_perf_open_high(struct perf_event_attr attr);
/* Likewise; each overflow becomes this signal to this thread. */
int pmu_perf_open_signalling(struct perf_event_attr attr, int signo, uint32_t kernel_tid);
/* Does it count? 0; -errno where it cannot be opened, -EBUSY where it never comes to run. */
int pmu_perf_try(struct perf_event_attr attr);
/* Both leave alone what is no event: a descriptor of the program's that has taken the number of one of ours. */
void pmu_perf_close(int fd);
bool pmu_perf_read(int fd, struct pmu_reading *out);
/* -n ... n of a file of /proc; INT32_MIN: there is none. */
int pmu_read_number(const char *path);

/* --- direct.c: reading without a system call where that is allowed. */

/* An event that is to be read so must ask for it. */
struct perf_event_attr pmu_direct_attr(struct perf_event_attr attr);
/* On the event's own thread; whether it works out or not. */
void pmu_direct_begin(struct pmu_direct *d, int fd, const struct perf_event_attr *attr);
void pmu_direct_end(struct pmu_direct *d);
/* On the event's own thread: directly, else by read(2). */
void pmu_event_read(int fd, const struct pmu_direct *d, struct pmu_reading *out);
/* What the page says, with the processor's counter as `counter` reads it. False: it cannot be read so now. */
bool pmu_page_read(const volatile struct perf_event_mmap_page *page,
                   uint64_t (*counter)(uint32_t n), struct pmu_reading *out);
/* Why perf_event_open failed with err for an event of that type, and the remedy. */
void pmu_perf_explain(int err, uint32_t type, struct rt_error *e);

#endif
