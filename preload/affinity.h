/* SPDX-License-Identifier: BSD-3-Clause
 * Reports on which processors the process and its threads may run: as metadata of the process, and
 * in EV_AFFINITY events of its threads. */
#ifndef REGTRACE_PRELOAD_AFFINITY_H
#define REGTRACE_PRELOAD_AFFINITY_H

#include "preload/thread.h"

/* Notes where the calling thread may run, as the mask of the process. The constructor calls it, and
 * each forked child. Async-signal-safe. */
void affinity_process_begins(void);

/* Writes the processors of the process as a list such as "0-3,8". Ends the list before a range that
 * does not fit into `room` bytes. Writes "" if the mask is unknown. */
void affinity_list(char *text, size_t room);

/* Asks the kernel where the calling thread may run. Emits EV_AFFINITY if the answer differs from
 * the last one that the thread reported, or the first time from the mask of the process. Makes one
 * system call. Signals must be blocked. */
void affinity_tell(struct recorder_thread *t, struct preload_thread *pt);

/* In the child of fork: the thread has reported nothing to the child's stream. */
void affinity_forked(struct recorder_thread *t, struct preload_thread *pt);

/* Does the same, unless this thread has asked before. */
static inline void affinity_tell_first(struct recorder_thread *t, struct preload_thread *pt)
{
    if (pt->affinity.told == 0)
        affinity_tell(t, pt);
}

#endif
