/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the library that take part in windows, threads and forks, and when each is called.
 *
 * parts.c has the table. Its order is the order of the calls where something begins, and the
 * reverse order where something ends. A part that is not built is not in the table. */
#ifndef REGTRACE_PRELOAD_WINDOW_PARTS_H
#define REGTRACE_PRELOAD_WINDOW_PARTS_H

#include "preload/internal.h"

/* Called on the thread concerned, with signals blocked. */
typedef void part_hook(struct recorder_thread *t, struct preload_thread *pt);

/* A hook that a part does not need is NULL. */
struct part {
    const char *name;
    /* Does this run measure threads that compute only? Such threads do not ask whether a broadcast
     * edge has come, so they must be interrupted. */
    bool (*wants_all_threads)(void);
    part_hook *window_prepare; /* before the window begins: what may take long */
    part_hook *window_opened;  /* after the record of its start */
    part_hook *window_closes;  /* before the record of its end */
    part_hook *window_closed;  /* after that record */
    part_hook *thread_ends;
    part_hook *thread_forked;     /* in the child of fork, for the thread that forked */
    void (*process_forked)(void); /* in the child of fork, before any thread_forked */
    /* Stops what interrupts the thread after a period (held), or continues it. pt may be NULL. */
    void (*hold)(struct preload_thread *pt, bool held);
};

bool parts_want_all_threads(void);
void parts_window_prepare(struct recorder_thread *t, struct preload_thread *pt);
void parts_window_opened(struct recorder_thread *t, struct preload_thread *pt);
void parts_window_closes(struct recorder_thread *t, struct preload_thread *pt);
void parts_window_closed(struct recorder_thread *t, struct preload_thread *pt);
void parts_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
/* pt: of the thread that forked; NULL: it has no state. */
void parts_forked(struct recorder_thread *t, struct preload_thread *pt);
void parts_hold(struct preload_thread *pt, bool held);

#endif
