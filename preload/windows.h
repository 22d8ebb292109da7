/* SPDX-License-Identifier: BSD-3-Clause
 * What an edge of a window is, and the operations that fired.c makes of a fired alarm. All need signals blocked. */
#ifndef REGTRACE_PRELOAD_WINDOWS_H
#define REGTRACE_PRELOAD_WINDOWS_H

#include "preload/internal.h"

struct window_edge {
    uint64_t clock;             /* ticks */
    uint64_t requested, actual; /* icounts, CTL_UNKNOWN */
    uint16_t alarm;             /* CTL_NO_ALARM: none */
    uint8_t kind, reason;       /* enum window_kind; CLOSE_ */
};

/* Bring this thread up to the broadcast edges that have been. */
void windows_follow(struct recorder_thread *t, struct preload_thread *pt);

/* Would this edge change nothing? Asked before the event is recorded, so that its record says so. An edge of another thread
 * may come before ours is made: windows_apply() decides anew, under the lock, and what was recorded is what held when it was
 * asked. */
bool windows_would_ignore(const struct recorder_thread *t, const struct preload_thread *pt,
                          bool start, bool bcast, uint8_t kind);

/* One edge on the calling thread; true if it changed something, false = ignored. */
bool windows_apply(struct recorder_thread *t, struct preload_thread *pt, bool start, bool bcast,
                   bool by_default, const struct window_edge *e);

#endif
