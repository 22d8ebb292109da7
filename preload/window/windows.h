/* SPDX-License-Identifier: BSD-3-Clause
 * The edge (open or close) of a window, and the operations that control_events.c uses for a fired
 * alarm. Callers block signals. */
#ifndef REGTRACE_PRELOAD_WINDOW_WINDOWS_H
#define REGTRACE_PRELOAD_WINDOW_WINDOWS_H

#include "preload/thread.h"

struct window_edge {
    uint64_t clock;             /* ticks */
    uint64_t requested, actual; /* instruction counts or CTL_UNKNOWN */
    uint16_t alarm;             /* CTL_NO_ALARM: none */
    uint8_t kind, reason;       /* enum window_kind; CLOSE_* */
};

/* Applies the past broadcast edges to this thread. */
void windows_follow(struct recorder_thread *t, struct preload_thread *pt);

/* Would this edge change nothing? The caller asks before it records the event, because the record
 * holds the answer. Another thread may make an edge in between: windows_apply() decides again under
 * the lock, and the record keeps the first answer. */
bool windows_would_ignore(const struct recorder_thread *t, const struct preload_thread *pt,
                          bool start, bool bcast, uint8_t kind);

/* Applies one edge to the calling thread. Returns false if the edge changed nothing. */
bool windows_apply(struct recorder_thread *t, struct preload_thread *pt, bool start, bool bcast,
                   bool by_default, const struct window_edge *e);

/* Follows the broadcast edges of other threads; installed as recorder_sync, so that a thread
 * follows them when it next records. Returns nonzero if the thread is in a window then. */
uint32_t windows_sync(struct recorder_thread *t);
void windows_close_thread(struct recorder_thread *t, unsigned reason, uint64_t icount);

/* In the child of fork: drops the lock of the windows, which a thread that does not exist here may
 * have held. The windows restart from ordinal 0. pt: state of the thread that forked, or NULL.
 * again: this process was a forked child already and had not recorded, so the windows of its parent
 * count. */
void windows_forked(struct preload_thread *pt, bool again);
/* When the thread that forked first records in the child: opens a window if it was recording. Other
 * threads may record already. */
void windows_after_fork(struct recorder_thread *t, struct preload_thread *pt);

/* After a failed exec: opens a new window, in place of the one that the exec closed. */
void windows_reopen(struct recorder_thread *t, struct preload_thread *pt);

#endif
