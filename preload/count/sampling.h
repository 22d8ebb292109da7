/* SPDX-License-Identifier: BSD-3-Clause
 * Samples (REGTRACE_SAMPLE), in windows or between them: where each thread is, every so often of its own time or events. On the thread
 * concerned; sampling_prepare() not from handlers. */
#ifndef REGTRACE_PRELOAD_COUNT_SAMPLING_H
#define REGTRACE_PRELOAD_COUNT_SAMPLING_H

#include "preload/internal.h"

/* Reads the option, sees whether it can be served. 0 or -errno with the text. */
RT_MUST_CHECK int sampling_prepare(struct rt_error *e);
bool sampling_is_on(void);
const struct pmu_sample_spec *sampling_spec(void);

/* Before the thread's window opens: what takes long the first time. */
void sampling_ready(const struct recorder_thread *t, struct preload_thread *pt);
/* The thread's window has opened, or is about to close; it is in none, since that or since its begin. Signals are blocked. */
void sampling_opened(struct recorder_thread *t, struct preload_thread *pt);
void sampling_closes(struct preload_thread *pt);
void sampling_gap(const struct recorder_thread *t, struct preload_thread *pt);
/* Are samples between windows asked for? */
bool sampling_in_gaps(void);

/* None while it is held (inside MPI_Init). */
void sampling_hold(struct preload_thread *pt, bool held);

/* Is this signal the sampler's? Then sampling_hit(). */
bool sampling_is_due(const siginfo_t *info);
void sampling_hit(struct preload_thread *pt, const siginfo_t *info, const void *context);
/* A signal that does not say whose it is: the queue was full. */
void sampling_unqueued(struct preload_thread *pt, const siginfo_t *info, const void *context);
/* Within a sample of values the calling thread has waited so long, for once. */
void sampling_values_waited(uint64_t ticks);
/* A sample of values takes long; it may be halted already. */
void sampling_values_halt(struct preload_thread *pt);
/* A sample of values that had gone on behind its handler (values_hit()) is over. */
void sampling_values_end(struct preload_thread *pt);

void sampling_thread_end(struct preload_thread *pt);
/* In the child of fork; and when it goes on as its parent was, in a window or in none: its first sample makes it record. */
void sampling_forked(struct preload_thread *pt);
void sampling_resume(struct preload_thread *pt, bool in_window);

#endif
