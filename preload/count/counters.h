/* SPDX-License-Identifier: BSD-3-Clause
 * Events counted in windows (REGTRACE_EVENTS): read where a window opens and closes. On the thread concerned. */
#ifndef REGTRACE_PRELOAD_COUNT_COUNTERS_H
#define REGTRACE_PRELOAD_COUNT_COUNTERS_H

#include "preload/internal.h"

/* Reads the option and sees whether it can be served. 0 or -errno with the text. */
RT_MUST_CHECK int counters_prepare(struct rt_error *e);
bool counters_are_on(void);
const struct pmu_counter_set *counters_set(void);

/* Before the thread's window opens: the kernel takes milliseconds to make a machine's first counter. */
void counters_ready(struct preload_thread *pt);
/* The thread's window has opened, or is about to close: signals are blocked. */
void counters_opened(struct recorder_thread *t, struct preload_thread *pt);
/* Before main, in a window or in none: what our code has executed so far is not the program's. */
void counters_again(const struct recorder_thread *t, struct preload_thread *pt);
void counters_closed(struct recorder_thread *t, const struct preload_thread *pt);
/* Also in the child of fork. */
void counters_thread_end(struct recorder_thread *t, struct preload_thread *pt);

/* An outermost MPI call whose edges are recorded has begun, or is about to end. */
void counters_call_begin(struct recorder_thread *t);
void counters_call_end(struct recorder_thread *t);

/* EV_STATS_EMIT, _RESET or _EMIT_RESET, and what it says of the counters. */
void counters_stats(struct recorder_thread *t, uint32_t code, uint32_t alarm, uint32_t tid);

#endif
