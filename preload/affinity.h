/* SPDX-License-Identifier: BSD-3-Clause
 * On which processors the process and its threads may run: metadata of the process, EV_AFFINITY of a thread. */
#ifndef REGTRACE_PRELOAD_AFFINITY_H
#define REGTRACE_PRELOAD_AFFINITY_H

#include "preload/internal.h"

/* The process begins, or a forked child does: as its calling thread may run. Async-signal-safe. */
void affinity_process_begins(void);

/* Its list ("0-3,8"), cut behind a processor where `room` ends; "" where it is not known. */
void affinity_list(char *text, size_t room);

/* Where the thread may run other than was last told of it, or at first than the process when that began, EV_AFFINITY. One
 * system call. With signals blocked. */
void affinity_tell(struct recorder_thread *t, struct preload_thread *pt);

/* The same, where nothing has been asked about this thread so far. */
static inline void affinity_tell_first(struct recorder_thread *t, struct preload_thread *pt)
{
    if (pt->affinity == 0)
        affinity_tell(t, pt);
}

#endif
