/* SPDX-License-Identifier: BSD-3-Clause
 * The system call that a signal has interrupted, and how waits.c continues it (wait_ways.c). */
#ifndef REGTRACE_PRELOAD_WAITS_WAIT_WAYS_H
#define REGTRACE_PRELOAD_WAITS_WAIT_WAYS_H

#include "preload/waits/waits.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum wait_way {
    WAY_NONE,     /* it cannot continue, or is unknown */
    WAY_KERNEL,   /* by restart_syscall */
    WAY_AGAIN,    /* the program executes the instruction again */
    WAY_REST,     /* the kernel wrote the remaining time into argument `timeout` */
    WAY_TIMED,    /* with the remaining time as argument `timeout` */
    WAY_SOCKET,   /* its socket may have SO_RCVTIMEO or SO_SNDTIMEO */
    WAY_TRANSFER, /* it has moved some bytes; wait_transfers.c moves the rest */
    WAY_RESTARTED /* the kernel restarts it, if it can restart it at all */
};
enum wait_unit { UNIT_TIMESPEC, UNIT_TIMEVAL, UNIT_MS, UNIT_RECEIVE, UNIT_SEND };

struct wait_rule {
    uint16_t number;
    uint8_t way, timeout, unit;
};

/* An interrupted call, and how it continues. */
struct wait_broken {
    const struct wait_rule *rule; /* NULL: unknown call */
    enum wait_way way;
    int64_t timeout; /* ns, of WAY_REST, WAY_TIMED and WAY_SOCKET */
};

/* Is the thread directly after a system call, so that nothing has changed its registers since? */
bool wait_is_over(const ucontext_t *uc);
/* Is the thread directly after a system call that has ended with EINTR? */
bool wait_is_broken(const ucontext_t *uc);
/* Analyses a context for which wait_is_broken() is true. */
struct wait_broken wait_look(const ucontext_t *uc);

/* Returns the rule of the call if the thread is directly before a call that may end with EINTR,
 * else NULL. */
const struct wait_rule *wait_rule_ahead(const ucontext_t *uc);

/* Returns the number of the call that the thread is directly after, or -1. */
long wait_number(const ucontext_t *uc);

/* Returns argument i of the call, 0 to 5. */
long wait_argument(const ucontext_t *uc, unsigned i);

#define WAITS_AGAIN (-516) /* never a result: the kernel uses it internally only */

/* Makes the call once, under the program's mask. Returns WAITS_AGAIN if the caller must make it
 * again, with the time that then remains. Signals are blocked up to waits_call(), which unblocks
 * them; there they end the call. In waits.c. */
long waits_once(ucontext_t *uc, long number, const long arguments[6], struct signals_seen seen);

#endif
