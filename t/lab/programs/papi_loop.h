/* SPDX-License-Identifier: BSD-3-Clause
 * For programs in which PAPI overflows in loop_turns(): counts the overflows, and those at another
 * place. */
#ifndef REGTRACE_T_LAB_PROGRAMS_PAPI_LOOP_H
#define REGTRACE_T_LAB_PROGRAMS_PAPI_LOOP_H

#include "loop.h"

#include <papi.h>

enum { THRESHOLD = 1000000 };

static volatile int overflows, strangers;

static void overflowed(int set, void *address, long long vector, void *context)
{
    (void)set, (void)vector, (void)context;
    uintptr_t at = (uintptr_t)address, loop = (uintptr_t)loop_turns;
    overflows = overflows + 1;
    if (at < loop || at > loop + LOOP_BYTES)
        strangers = strangers + 1;
}

#endif
