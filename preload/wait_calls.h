/* SPDX-License-Identifier: BSD-3-Clause
 * When system calls began whose timeout the kernel forgets (wait_calls.c), for those who continue them (waits.c). */
#ifndef REGTRACE_PRELOAD_WAIT_CALLS_H
#define REGTRACE_PRELOAD_WAIT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* The last such call of this thread. It stays when the call is over: `stack` and `first` tell whether it is the one that was
 * interrupted. */
struct wait_note {
    uint64_t clock;  /* ns of CLOCK_MONOTONIC; 0: of a call that needs none */
    uintptr_t stack; /* the caller's, a little above that of the system call */
    int32_t first;   /* argument: a descriptor, an id, or the low half of an address */
    int32_t number;
};
extern __thread struct wait_note wait_noted
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A call begins, with that first argument, in a function that the caller of this one has called. */
#define waits_note(number, first) waits_note_at(number, first, __builtin_dwarf_cfa())
void waits_note_at(long number, long first, const void *stack);

/* May the kernel forget when the call of that number ends? */
bool waits_is_timed(long number);

#endif
