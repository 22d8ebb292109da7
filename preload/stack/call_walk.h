/* SPDX-License-Identifier: BSD-3-Clause
 * Walks up the calling thread's stack fast, by rules that are computed once for each place from the
 * tables for unwinders and then found by a hash. x86-64, as unwind.h. */
#ifndef REGTRACE_PRELOAD_STACK_CALL_WALK_H
#define REGTRACE_PRELOAD_STACK_CALL_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the number of the call path of the code that a function returns to, whose return address
 * lies at that address of the stack: its caller, the caller of that one, and so on, at most `most`
 * (REGTRACE_CALLPATH). 0: not known. Async-signal-safe. */
uint32_t call_path_from_return(uintptr_t return_at, unsigned most);
/* The same without that code itself: for the function that is called there, its caller and so on.
 * 0 on other processors than x86-64. */
uint32_t call_path_of_caller(uintptr_t return_at, unsigned most);
/* The same as call_path_from_return() at the first instruction of the function, where the frame
 * pointer (rbp) is still its caller's. The code that asks may be anywhere. x86-64 alone. */
uint32_t call_path_from_entry(uintptr_t return_at, uintptr_t frame_pointer, unsigned most);
/* The same for the callers of the function that a handler interrupted: `context` is the handler's
 * ucontext_t. */
uint32_t call_path_from_context(const void *context, unsigned most);

/* Other code may lie at addresses for which gone() returns true. */
void call_walk_forget(bool (*gone)(uintptr_t address));

#endif
