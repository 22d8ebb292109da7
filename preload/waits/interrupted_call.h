/* SPDX-License-Identifier: BSD-3-Clause
 * The system call that a signal has interrupted, and how waits.c continues it. For the files of
 * this folder, whose functions begin with wait_; waits.h has those for others. */
#ifndef REGTRACE_PRELOAD_WAITS_INTERRUPTED_CALL_H
#define REGTRACE_PRELOAD_WAITS_INTERRUPTED_CALL_H

#include "preload/waits/waits.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum wait_continuation {
    CONTINUE_NONE,      /* it cannot continue, or is unknown */
    CONTINUE_KERNEL,    /* by restart_syscall */
    CONTINUE_AGAIN,     /* the program executes the instruction again */
    CONTINUE_REMAINING, /* the kernel wrote the remaining time into argument `timeout` */
    CONTINUE_TIMED,     /* with the remaining time as argument `timeout` */
    CONTINUE_SOCKET,    /* its socket may have SO_RCVTIMEO or SO_SNDTIMEO */
    CONTINUE_TERMINAL,  /* the kernel restarts it, with the terminal's whole timeout (VTIME) */
    CONTINUE_TRANSFER,  /* it has moved some bytes; wait_transfers.c moves the rest */
    CONTINUE_RESTARTED  /* the kernel restarts it, if it can restart it at all */
};
enum wait_unit { UNIT_TIMESPEC, UNIT_TIMEVAL, UNIT_MS, UNIT_RECEIVE, UNIT_SEND };

struct wait_rule {
    uint16_t number;
    uint8_t continuation, timeout, unit;
};

/* An interrupted call, and how it continues. */
struct wait_broken {
    const struct wait_rule *rule; /* NULL: unknown call */
    enum wait_continuation continuation;
    /* ns, of CONTINUE_REMAINING, CONTINUE_TIMED, CONTINUE_SOCKET and CONTINUE_TERMINAL */
    int64_t timeout;
};

/* Is the thread directly after a system call, so that nothing has changed its registers since? */
bool wait_is_over(const ucontext_t *uc);
/* Is the thread directly after a system call that has ended with EINTR? */
bool wait_is_broken(const ucontext_t *uc);
/* Is the thread directly before a call that the kernel continues by restart_syscall? A signal that
 * another thread took has interrupted it. If our handler returned there, the kernel would have
 * forgotten how to continue the call. */
bool wait_is_restarting(const ucontext_t *uc);
/* Analyses a context for which wait_is_broken() is true. */
struct wait_broken wait_look(const ucontext_t *uc);

/* Would the kernel restart that call after a handler with SA_RESTART? */
bool wait_would_restart(const ucontext_t *uc, const struct wait_broken *b);

/* Returns the rule of the call if the thread is directly before a call that may end with EINTR,
 * else NULL. */
const struct wait_rule *wait_rule_ahead(const ucontext_t *uc);

/* Returns the number of the call that the thread is directly after, or -1. */
long wait_number(const ucontext_t *uc);

/* Returns argument i of the call, 0 to 5. */
long wait_argument(const ucontext_t *uc, unsigned i);
void wait_arguments(const ucontext_t *uc, long arguments[6]);

#define URING_GETEVENTS 1 /* IORING_ENTER_GETEVENTS */
#define URING_EXTENDED 8  /* IORING_ENTER_EXT_ARG */

/* How reads of a terminal end that is not in canonical mode: termios(3), VMIN and VTIME. */
struct wait_terminal {
    uint8_t least;  /* bytes */
    uint8_t tenths; /* of a second; with `least` between bytes, otherwise in all */
};
/* Returns false if this is no terminal, is in canonical mode, or does not block. */
bool wait_look_at_terminal(int fd, struct wait_terminal *how);

#define WAIT_AGAIN (-516) /* never a result: the kernel uses it internally only */

/* Makes the call once, under the program's mask. Returns WAIT_AGAIN if the caller must make it
 * again, with the time that then remains. Signals are blocked up to waits_call(), which unblocks
 * them; there they end the call. In waits.c. */
long wait_once(ucontext_t *uc, long number, const long arguments[6], struct signals_seen seen);

/* Waits likewise until poll(2) says that the descriptor is ready, or until `end`, in ns of
 * CLOCK_MONOTONIC. Returns what poll(2) returns; -EINTR after a handler of the program. In
 * waits.c. */
struct pollfd;
long wait_poll(ucontext_t *uc, struct pollfd *fd, int64_t end, struct signals_seen seen);

/* Continues the call, and puts its result into the context. May wait. In waits.c. */
void wait_go_on(ucontext_t *uc, const struct wait_broken *b, struct waits_arrival came);

/* Has the stack room for handlers of the program, or for what unwinds a cancelled thread? They need
 * it while our handler is on the stack and continues the call. In wait_stack.c, as the next one. */
bool wait_has_room(const ucontext_t *uc);
/* Continues the call on another stack: if the alternate stack is small, on the interrupted one; if
 * the thread's own is small, on one of ours. Returns false if there is no room on the interrupted
 * one. */
bool wait_move_stack(ucontext_t *uc, const struct wait_broken *b, struct waits_arrival came);

/* Waits until the socket of an interrupted call is ready, or until `end`. Returns the call's
 * result, or WAIT_AGAIN if the program must make it again. connecting: of connect, see
 * WAIT_CONNECTING. In wait_ready.c, as the next one. */
long wait_for_socket(ucontext_t *uc, const struct wait_broken *b, bool connecting, int64_t end,
                     struct signals_seen seen);
/* Waits as a read of a terminal does (CONTINUE_TERMINAL). Returns 0 if nothing came. */
long wait_for_terminal(ucontext_t *uc, int64_t timeout, struct signals_seen seen);

#endif
