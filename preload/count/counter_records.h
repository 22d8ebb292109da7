/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the counters of REGTRACE_EVENTS when a window opens and closes. Called on the thread
 * concerned. */
#ifndef REGTRACE_PRELOAD_COUNT_COUNTER_RECORDS_H
#define REGTRACE_PRELOAD_COUNT_COUNTER_RECORDS_H

#include "preload/thread.h"

/* Reads the option and checks that it can be served. Returns 0, or -errno with the text. */
RT_MUST_CHECK int counters_prepare(struct rt_error *e);
bool counters_are_on(void);
const struct pmu_counter_set *counters_set(void);

/* Makes the counters before the thread's window opens: the kernel takes milliseconds to make a
 * machine's first counter. */
void counters_ready(struct recorder_thread *t, struct preload_thread *pt);
/* The thread's window has opened; for counters_closes(), it is about to close. Signals are
 * blocked. */
void counters_opened(struct recorder_thread *t, struct preload_thread *pt);
/* Restarts the counts before main, in a window or outside: what our code has executed so far is not
 * the program's. */
void counters_again(const struct recorder_thread *t, struct preload_thread *pt);
void counters_closes(struct recorder_thread *t, struct preload_thread *pt);
/* Also called in the child of fork. */
void counters_thread_ends(struct recorder_thread *t, struct preload_thread *pt);

/* An outermost MPI call whose edges are recorded has begun, or is about to end. */
void counters_call_begin(struct recorder_thread *t);
void counters_call_end(struct recorder_thread *t);

/* Records EV_STATS_EMIT, _RESET or _EMIT_RESET, and the counts that belong to it. */
void counters_stats(struct recorder_thread *t, uint32_t code, uint32_t alarm, uint32_t tid);

#endif
