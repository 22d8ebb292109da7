/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the library, and when each is called: as the process, its threads and its windows
 * begin and end, at forks, at signals that a part needs, and as images come and go.
 *
 * parts.c has the table. Beginnings, and the search for the part that claims a signal, go down the
 * table; endings go up. A part that is not built is not in the table. */
#ifndef REGTRACE_PRELOAD_WINDOW_PARTS_H
#define REGTRACE_PRELOAD_WINDOW_PARTS_H

#include "preload/thread.h"

/* Called on the thread concerned, with signals blocked. */
typedef void part_hook(struct recorder_thread *t, struct preload_thread *pt);

/* In the handler of a signal. Returns true if the signal was the part's own: the program does not
 * get it then. context: the ucontext_t with which the thread goes on; the part may change it. */
typedef bool part_signal_hook(int signo, siginfo_t *info, void *context);

/* A hook that a part does not need is NULL. */
struct part {
    const char *name;
    /* In the constructor: reads the options of the part. Returns 0, or -errno with a text if the
     * part cannot do what they ask for. */
    int (*prepare)(struct rt_error *e);
    /* After prepare() of all parts, so that what it starts does not outlive a refusal. */
    int (*start)(struct rt_error *e);
    /* Must this signal reach the library, whatever the program does with it? */
    bool (*wants_signal)(int signo);
    part_signal_hook *trapped; /* SIGTRAP */
    part_signal_hook *faulted; /* any other signal, and a SIGTRAP that no part has claimed */
    /* After images were loaded, before their code runs; after some were unloaded. Not in handlers
     * of signals. */
    void (*images_loaded)(void);
    void (*images_gone)(void);
    /* Returns the bytes that the part needs in the mapping of each thread, a multiple of 8.
     * thread_made() gets them zeroed and aligned to 8, before the thread has an automaton. */
    size_t (*thread_room)(void);
    void (*thread_made)(struct preload_thread *pt, void *room);
    /* Does this run measure threads that compute only? Such threads do not ask whether a broadcast
     * edge has come, so they must be interrupted. */
    bool (*wants_all_threads)(void);
    part_hook *window_prepare;    /* before the window begins: what may take long */
    part_hook *window_opened;     /* after the record of its start */
    part_hook *window_closes;     /* before the record of its end */
    part_hook *window_closed;     /* after that record */
    part_hook *thread_ends;       /* not at the end of the process: see process_finish() */
    part_hook *thread_forked;     /* in the child of fork, for the thread that forked */
    void (*process_forked)(void); /* in the child of fork, before any thread_forked */
    /* Stops what interrupts the thread after a period (held), or continues it. pt may be NULL. */
    void (*hold)(struct preload_thread *pt, bool held);
};

RT_MUST_CHECK int parts_prepare(struct rt_error *e);
RT_MUST_CHECK int parts_start(struct rt_error *e);
bool parts_want_signal(int signo);
/* Returns true if a part has claimed the signal. */
bool parts_trapped(int signo, siginfo_t *info, void *context);
bool parts_faulted(int signo, siginfo_t *info, void *context);
void parts_images_loaded(void);
void parts_images_gone(void);
size_t parts_thread_room(void);
void parts_thread_made(struct preload_thread *pt, void *room);
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
