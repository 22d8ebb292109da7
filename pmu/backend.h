/* SPDX-License-Identifier: BSD-3-Clause
 * Back ends, kernel events and direct reads: interfaces within pmu/. */
#ifndef REGTRACE_PMU_BACKEND_H
#define REGTRACE_PMU_BACKEND_H

#include "pmu/pmu.h"

#include <linux/perf_event.h>

extern const struct pmu_backend pmu_perf, pmu_papi, pmu_step, pmu_late;

/* Sets the skids of the back end `late`: 0 to `maximum` instructions, generated from the seed. */
void pmu_late_prepare(uint64_t seed, uint64_t maximum);

/* An event as the kernel counts it: the sum of codes, each with its sign. */
#define PMU_PARTS 4u
struct pmu_event {
    char name[PMU_NAME];
    const char *source; /* who knows the event: kernel, PAPI, libpfm4 */
    char meaning[256];  /* the processor's events that make it up */
    unsigned count;
    struct pmu_code code[PMU_PARTS];
    signed char sign[PMU_PARTS];
};
/* Finds an event by name. Returns false with the reason in *why. May start regtrace-events. */
bool pmu_event_find(const char *text, size_t length, struct pmu_event *out, struct rt_error *why);
/* Asks regtrace-events at once for all names of "EVENT,EVENT..." that pmu_event_find() will
 * need. */
void pmu_events_expect(const char *list);
/* Writes, for example, "PAPI: arm_ac57::INST_RETIRED (type 4 config 0x8)". */
void pmu_event_describe(const struct pmu_event *e, char *out, size_t room);

struct perf_event_attr pmu_perf_attr(struct pmu_code code);
/* The event that the chosen back end, perf or papi, counts. */
struct perf_event_attr pmu_perf_instructions(void);
/* Opens an event of the calling thread in user mode. `attr` selects the event; this function sets
 * its size and exclusions. Returns a descriptor or -errno. */
int pmu_perf_open(struct perf_event_attr attr);
/* The same, in the group of the descriptor `group`, whose events count together; -1: no group. */
int pmu_perf_open_in(struct perf_event_attr attr, int group);
/* As pmu_perf_open(), with a descriptor number that is out of the program's way. */
int pmu_perf_open_high(struct perf_event_attr attr);
/* As pmu_perf_open_high(); each overflow sends signo to the thread kernel_tid. */
int pmu_perf_open_signalling(struct perf_event_attr attr, int signo, uint32_t kernel_tid);
/* Checks that the event counts. Returns 0; -errno if it cannot be opened; -EBUSY if it never gets a
 * counter. */
int pmu_perf_try(struct perf_event_attr attr);
/* Both ignore a descriptor that is no event: the program may have closed ours and use its
 * number. */
void pmu_perf_close(int fd);
bool pmu_perf_read(int fd, struct pmu_reading *out);
/* Returns the decimal number in a file of /proc, or INT32_MIN if there is no such file. */
int pmu_read_number(const char *path);

/* --- user_read.c: reading without a system call, if that is allowed -------------------------- */

/* Returns `attr` with the request that direct reading needs. */
struct perf_event_attr pmu_direct_attr(struct perf_event_attr attr);
/* Maps the event's page, on the event's own thread. Leaves d->page NULL if direct reading is
 * impossible. */
void pmu_direct_begin(struct pmu_direct *d, int fd, const struct perf_event_attr *attr);
void pmu_direct_end(struct pmu_direct *d);
/* Reads an event on its own thread: directly, or else by read(2). */
void pmu_event_read(int fd, const struct pmu_direct *d, struct pmu_reading *out);
/* Reads an event from its page; `counter` reads the processor's counter n. Returns false if that is
 * impossible now. */
bool pmu_page_read(const volatile struct perf_event_mmap_page *page,
                   uint64_t (*counter)(uint32_t n), struct pmu_reading *out);
/* Explains why perf_event_open() failed with `err` for an event of that type, with the remedy. */
void pmu_perf_explain(int err, uint32_t type, struct rt_error *e);

#endif
