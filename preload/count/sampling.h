/* SPDX-License-Identifier: BSD-3-Clause
 * Samples (REGTRACE_SAMPLE), in windows or between them: where each thread is, after each period of
 * its own time or events. Called on the thread concerned; sampling_prepare() not from handlers. */
#ifndef REGTRACE_PRELOAD_COUNT_SAMPLING_H
#define REGTRACE_PRELOAD_COUNT_SAMPLING_H

#include "preload/thread.h"

/* Reads the option and checks that it can be served. Returns 0, or -errno with the text. */
RT_MUST_CHECK int sampling_prepare(struct rt_error *e);
bool sampling_is_on(void);
const struct pmu_sample_spec *sampling_spec(void);

/* Does what takes long the first time, before the thread's window opens. */
void sampling_ready(struct recorder_thread *t, struct preload_thread *pt);
/* The thread's window has opened (sampling_opened()) or is about to close (sampling_closes()); the
 * thread is in no window, since it left one or since it began (sampling_gap()). Signals are
 * blocked. */
void sampling_opened(struct recorder_thread *t, struct preload_thread *pt);
void sampling_closes(struct recorder_thread *t, struct preload_thread *pt);
void sampling_gap(struct recorder_thread *t, struct preload_thread *pt);
/* Are samples between windows wanted? */
bool sampling_in_gaps(void);

/* No samples while `held` (inside MPI_Init). */
void sampling_hold(struct preload_thread *pt, bool held);

/* Is this a signal of the thread's samplers? Then sampling_hit() must follow. */
bool sampling_is_due(const siginfo_t *info);
void sampling_hit(struct preload_thread *pt, const siginfo_t *info, const void *context);
/* Handles a signal that does not say which sampler sent it: the queue was full. */
void sampling_unqueued(struct preload_thread *pt, const siginfo_t *info, const void *context);
/* The thread has waited this many ticks within a sample of values, for once. */
void sampling_values_waited(uint64_t ticks);
/* A sample of values takes long: halts its sampler, which may be halted already. */
void sampling_values_halt(struct preload_thread *pt);
/* Call it when a sample of values ends that went on after its handler (values_hit()). */
void sampling_values_end(struct preload_thread *pt);

void sampling_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
/* sampling_forked(): called in the child of fork. sampling_resume(): the child goes on as its
 * parent was, in a window or in none; its first sample makes it record. */
void sampling_forked(struct recorder_thread *t, struct preload_thread *pt);
void sampling_resume(struct preload_thread *pt, bool in_window);

#endif
