/* SPDX-License-Identifier: BSD-3-Clause
 * When MPI calls of a program begin and end: structs in a file, which all ranks map. A call's
 * recorded begin lies between `before` and `inside`, its recorded end between `leaves` and `after`,
 * even if its rank loses the processor anywhere. */
#ifndef LOGGED_H
#define LOGGED_H

#include <stddef.h>
#include <time.h>

/* Times by CLOCK_MONOTONIC; 0: not yet. */
struct logged {
    _Atomic long long before; /* by the caller, before the call */
    _Atomic long long inside; /* by the library that regtrace calls */
    _Atomic long long leaves;
    _Atomic long long after;
};

/* Where the program's present call is logged, or NULL. */
extern struct logged *logged_now;

/* Maps that many bytes of a file, which are 0 if it is new. Returns NULL with errno set. */
void *logged_map(const char *path, size_t size);

static inline long long logged_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#endif
