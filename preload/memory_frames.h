/* SPDX-License-Identifier: BSD-3-Clause
 * Threads led into clones and out of them in mid-function: return addresses on their stacks, and contexts that they go on with. Of
 * preload/memory*.c. */
#ifndef REGTRACE_PRELOAD_MEMORY_FRAMES_H
#define REGTRACE_PRELOAD_MEMORY_FRAMES_H

#include "preload/memory.h"

/* Of the thread's own stack, from there to `to`: does anything return into a clone? */
bool memory_has_frames(uintptr_t from, uintptr_t to);
/* What returns into clones from there on returns into the functions themselves. */
void memory_leave_frames(uintptr_t from);
/* A thread that was interrupted in a clone goes on in the function, at once or as soon as what records there is over. */
void memory_leave_clone(void *context);

/* The thread goes on in a clone of what it is in, or of the first of those who have called that. */
void memory_enter_late(const struct memory_interrupted *i);
/* Where a jump out of functions leads (setjmp's return), and the registers there: rbx, rbp, r12 to r15, the stack pointer. Where it is to go
 * instead. */
uintptr_t memory_enter_target(uintptr_t at, const uintptr_t kept[6], uintptr_t stack);
/* What clones' hooks do (probe_clones_hooks.c), kept as above. Late clones return to that place: whoever is there is entered. */
void memory_enter_returning(uintptr_t *place, const uintptr_t kept[6]);
/* A jump leads to CLONE_TARGET, or to a clone of what is there. */
void memory_enter_jump(uintptr_t *stack, const uintptr_t kept[6]);
/* A late clone leaves for CLONE_TARGET: whoever called is entered. */
void memory_enter_leaving(uintptr_t *stack, const uintptr_t kept[6]);

#endif
