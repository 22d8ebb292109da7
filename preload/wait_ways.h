/* SPDX-License-Identifier: BSD-3-Clause
 * Which system call a signal has broken off, and how it can go on (wait_ways.c), for waits.c. */
#ifndef REGTRACE_PRELOAD_WAIT_WAYS_H
#define REGTRACE_PRELOAD_WAIT_WAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum wait_way {
    WAY_NONE,   /* not interrupted, or not known */
    WAY_KERNEL, /* restart_syscall */
    WAY_AGAIN,
    WAY_REST, /* the kernel wrote the time left into argument `timeout` */
    WAY_TIMED,
    WAY_SOCKET,   /* perhaps: SO_RCVTIMEO or SO_SNDTIMEO */
    WAY_RESTARTED /* by the kernel, as far as it may be */
};
enum wait_unit { UNIT_TIMESPEC, UNIT_TIMEVAL, UNIT_MS, UNIT_RECEIVE, UNIT_SEND };

struct wait_rule {
    uint16_t number;
    uint8_t way, timeout, unit;
};

/* A broken call, and how it goes on. */
struct wait_broken {
    const struct wait_rule *rule; /* NULL: unknown */
    enum wait_way way;
    int64_t timeout; /* ns, of WAY_REST, WAY_TIMED and WAY_SOCKET */
};

/* The call has ended with EINTR, and the thread stands behind its instruction. */
bool wait_is_broken(const ucontext_t *uc);
/* Of such a context. */
struct wait_broken wait_look(const ucontext_t *uc);

/* The thread stands before the instruction of a call that may end with EINTR; its rule, else NULL. */
const struct wait_rule *wait_rule_ahead(const ucontext_t *uc);

/* Argument i of the call, 0 to 5. */
long wait_argument(const ucontext_t *uc, unsigned i);

#endif
