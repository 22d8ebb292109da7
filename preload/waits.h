/* SPDX-License-Identifier: BSD-3-Clause
 * System calls that our signals interrupt go on, so that the program cannot tell. */
#ifndef REGTRACE_PRELOAD_WAITS_H
#define REGTRACE_PRELOAD_WAITS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Program handlers that ran on this thread; `breaking`: those without SA_RESTART. */
struct signals_seen {
    uint32_t program, breaking;
};
extern __thread struct signals_seen signals_seen
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* How a handler of ours began. */
struct waits_arrival {
    struct signals_seen seen; /* before it */
    int64_t at;               /* ns of CLOCK_MONOTONIC where it broke off a system call, else 0 */
    bool fault;               /* the thread's own instruction raised the signal */
};

/* In every handler of ours, first. seen: signals_seen as of the handler's first instruction. */
struct waits_arrival waits_arrive(const siginfo_t *info, void *context, struct signals_seen seen);

/* Did the signal break off a system call that cannot go on? Then the program gets EINTR because of us. */
bool waits_is_lost(const void *context);

/* The context that stands for where the program was interrupted: *context itself, or that of the outer handler where the
 * signal came while that one continued a system call. */
void *waits_place(void *context);

/* Before a handler of the program runs on top of that context. restarts: it has SA_RESTART. A system call that we are about
 * to continue there ends with EINTR, as it would have without us. */
void waits_program_comes(void *context, bool restarts);

/* At the end of a handler of ours: continues the interrupted system call and puts its result into the context. Nothing where
 * a handler of the program has run since. programs: this very signal was the program's. May wait as long as the call does;
 * handlers of the program may run meanwhile. */
void waits_continue(void *context, struct waits_arrival came, bool programs);

/* After all else in a handler: where it interrupted such a continuation, that one goes on; does not return then. Returning
 * through the kernel would make it forget when the call ends. */
void waits_leave(void *context, struct waits_arrival came);

#endif
