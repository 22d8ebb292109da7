/* SPDX-License-Identifier: BSD-3-Clause
 * Continues the system calls that our signals interrupt, so that the program does not notice. */
#ifndef REGTRACE_PRELOAD_WAITS_WAITS_H
#define REGTRACE_PRELOAD_WAITS_WAITS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts the program's handlers that ran on this thread; `breaking`: those without SA_RESTART. */
struct signals_seen {
    uint32_t program, breaking;
};
extern __thread struct signals_seen signals_seen
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The state when one of our handlers began. */
struct waits_arrival {
    struct signals_seen seen; /* before the handler */
    int64_t at;               /* ns of CLOCK_MONOTONIC if it interrupted a system call, else 0 */
    uintptr_t ip;             /* where, if it came directly after a system call, else 0 */
    bool fault;               /* the thread's own instruction raised the signal */
    bool handed_on;           /* the main thread handles it: the call must not end here */
};

/* Called in the constructor. */
void waits_prepare(void);

/* signals_arrived() calls it when no part has claimed the signal. seen: signals_seen at the
 * handler's first instruction. */
struct waits_arrival waits_arrive(const siginfo_t *info, void *context, struct signals_seen seen);

/* Did the signal interrupt a system call that cannot continue? Then the program gets EINTR because
 * of us. */
bool waits_is_lost(const void *context);

/* Returns the context in which the program was interrupted: `context`, or the context of the outer
 * handler if the signal came while that handler continued a system call. */
void *waits_place(void *context);

/* Has our handler interrupted a system call that goes on after it? */
bool waits_call_goes_on(const void *context);

/* Can the system call that the signal has interrupted, if any, go on although the action of the
 * signal may lack SA_RESTART? */
bool waits_call_can_go_on(const void *context);

/* Returns the signal mask with which the program waits if the context, from waits_place(), is that
 * of a system call which sets one for its time, as sigsuspend() does; else `mask`. */
uint64_t waits_mask(const void *context, uint64_t mask);

/* Called before a handler of the program runs on top of this context. restarts: it has SA_RESTART.
 * If we are about to continue a system call there, the call ends with EINTR, as it would without
 * us. */
void waits_program_comes(void *context, bool restarts);

/* At the end of our handler: continues the interrupted system call and puts its result into the
 * context. If a handler of the program has run since, the program gets EINTR instead. programs:
 * this signal ran a handler of the program. May wait as long as the call does; the program's
 * handlers may run meanwhile. */
void waits_continue(void *context, struct waits_arrival came, bool programs);

/* signals_arrived() calls it last. If the handler interrupted such a continuation, resumes it
 * and does not return. A return through the kernel would make the kernel forget when the call
 * ends. */
void waits_leave(void *context, struct waits_arrival came);

#endif
