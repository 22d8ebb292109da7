/* SPDX-License-Identifier: BSD-3-Clause
 * Start times of system calls whose timeout the kernel forgets when a signal interrupts them
 * (wait_calls.c). waits.c continues these calls. */
#ifndef REGTRACE_PRELOAD_WAITS_WAIT_CALLS_H
#define REGTRACE_PRELOAD_WAITS_WAIT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* The last such call of this thread. The note stays after the call; `stack` and `first` identify
 * the interrupted call. */
struct wait_note {
    uint64_t clock;  /* ns of CLOCK_MONOTONIC; 0: the call needs no start time */
    uintptr_t stack; /* of the caller, a little above that of the system call */
    int32_t first;   /* first argument: a descriptor, an id, the low half of an address */
    int32_t number;  /* may have the flag below */
};
/* The socket of this connect() was connecting before: at its timeout it fails with EALREADY. */
#define WAIT_CONNECTING 0x10000
extern __thread struct wait_note wait_noted
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Notes that a call with this first argument begins. A wrapper of the call uses it. */
#define waits_note(number, first) waits_note_at(number, first, __builtin_dwarf_cfa())
void waits_note_at(long number, long first, const void *stack);

/* May the kernel forget the end time of the call with this number? */
bool waits_is_timed(long number);

#endif
