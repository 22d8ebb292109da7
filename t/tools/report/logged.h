/* SPDX-License-Identifier: BSD-3-Clause
 * The log of delays.c: [rank][phase][number] of struct logged. A call's recorded begin lies between
 * `before` and `inside`, its recorded end between `leaves` and `after`, even if its rank loses the
 * processor anywhere. delay_bounds.py reads it. */
#ifndef LOGGED_H
#define LOGGED_H

#include <time.h>

/* Numbers below REST are those of a phase's calls. REST is the rank's last rest of the phase. */
enum { PHASES = 7, REST = 5, OPENING = 6, CLOSING = 7, LOGGED = 8 };

/* Times by CLOCK_MONOTONIC; 0: not yet. */
struct logged {
    _Atomic long long before; /* by the caller, before the call */
    _Atomic long long inside; /* by the library that regtrace calls */
    _Atomic long long leaves;
    _Atomic long long after;
};

/* Where the program's present call is logged, or NULL. */
extern struct logged *logged_now;

static inline long long logged_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#endif
