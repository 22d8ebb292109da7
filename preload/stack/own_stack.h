/* SPDX-License-Identifier: BSD-3-Clause
 * Our own stacks, for use where the program's stack may be too small (own_stack.c), and functions
 * that run code on them (with_room.c). Async-signal-safe. */
#ifndef REGTRACE_PRELOAD_STACK_OWN_STACK_H
#define REGTRACE_PRELOAD_STACK_OWN_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OWN_STACK_BYTES 262144
/* Code with less room than this on its stack moves to another one. It is more than twice the need
 * of our deepest path. */
#define OWN_STACK_ROOM 16384u
#define OWN_STACK_DEEP 131072u /* the same for code that reads image files */
#define OWN_STACKS 32u         /* in the pool; further stacks are mapped and unmapped */

struct own_stack {
    _Atomic uint32_t taken;
    _Atomic uintptr_t at; /* 0: not mapped yet; never unmapped */
    uint64_t name;        /* id that valgrind gave the stack */
};

/* Sets the bounds of the calling thread's stack. Has no effect if the thread is not on this stack
 * now. Until it is called the bounds are unknown. */
void thread_stack_set(uintptr_t low, uintptr_t high);
/* Writes the bounds of the thread's stack to *low and *high. Returns false if they are unknown. */
bool thread_stack_bounds(uintptr_t *low, uintptr_t *high);
/* Is this frame on the thread's stack, with `room` bytes below it? True if the bounds of the stack
 * are unknown. */
bool thread_stack_has_room(uintptr_t frame, uintptr_t room);

/* Returns a stack, or NULL without memory. The calling thread keeps all signals blocked until it
 * gives the stack back. */
struct own_stack *own_stack_take(void);
void own_stack_give(struct own_stack *s);
/* Does this address lie on a stack of the pool? */
bool own_stack_contains(uintptr_t address);
/* In the child of fork: frees the stacks of threads that do not exist here. */
void own_stack_forked(void);

/* For code that saves vector registers (probe_stubs.c). own_stack_move() changes no vector
 * register, and other registers only as a function may. It returns where the caller's stack
 * continues, aligned to 64 bytes: at `m` if there is room below it, otherwise on one of our stacks,
 * with signals blocked; 0 without memory. The caller calls own_stack_back() when its stack pointer
 * is at `m` again. */
struct own_stack_move {
    uint64_t mask; /* the mask before, if a stack was taken */
    struct own_stack *taken;
};
uintptr_t own_stack_move(struct own_stack_move *m) __attribute__((visibility("hidden")));
void own_stack_back(const struct own_stack_move *m) __attribute__((visibility("hidden")));

/* Maps a stack outside the pool, which the caller unmaps. Returns 0 without memory; to unmap that
 * does nothing. */
uintptr_t own_stack_map(void);
void own_stack_unmap(uintptr_t at);

#endif
