/* SPDX-License-Identifier: BSD-3-Clause
 * Total instructions of whole threads, in the threads' rows of the stream: totals.c. */
#ifndef REGTRACE_PRELOAD_COUNT_TOTALS_H
#define REGTRACE_PRELOAD_COUNT_TOTALS_H

#include "preload/thread.h"

/* - totals_begin(): the thread's counter runs now.
 * - totals_note(): stores the count and returns it; CTL_UNKNOWN: not known.
 * - totals_retire(): the thread goes on without being counted.
 * - totals_end(): the thread's counter is about to be closed.
 * - totals_finish(): at the end of the program, for threads that are still alive.
 * - totals_are_there(): does any thread have a total? */
void totals_begin(struct recorder_thread *t, struct preload_thread *pt);
uint64_t totals_note(struct recorder_thread *t, const struct preload_thread *pt);
void totals_end(struct recorder_thread *t, struct preload_thread *pt);
void totals_retire(struct recorder_thread *t, const struct preload_thread *pt);
void totals_finish(void);
bool totals_are_there(void);

#endif
