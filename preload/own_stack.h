/* SPDX-License-Identifier: BSD-3-Clause
 * Stacks of our own, where the program's stack may be too small (own_stack.c), and who runs on them (with_room.c). Async-signal-safe. */
#ifndef REGTRACE_PRELOAD_OWN_STACK_H
#define REGTRACE_PRELOAD_OWN_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OWN_STACK_BYTES 262144
/* What has less room than this below it runs elsewhere: more than twice what our longest way needs there. */
#define OWN_STACK_ROOM 16384u
#define OWN_STACK_DEEP 131072u /* likewise, where images come: files are read */
#define OWN_STACKS 32u         /* that are kept; more are mapped and unmapped */

struct own_stack {
    _Atomic uint32_t taken;
    _Atomic uintptr_t at; /* 0: not mapped yet; it stays */
    uint64_t name;        /* valgrind's */
};

/* The calling thread's stack is there; ignored where it is not on it. Else nobody knows. */
void own_stack_is_here(uintptr_t low, uintptr_t high);
/* Its ends; false: not known. */
bool own_stack_ends(uintptr_t *low, uintptr_t *high);
/* Is this frame on the thread's stack, with so much room below it? Of a thread that nobody has seen begin: yes. */
bool own_stack_has_room(uintptr_t frame, uintptr_t room);

/* One for the calling thread, which has all signals blocked until it gives it back; NULL: no memory. */
struct own_stack *own_stack_take(void);
void own_stack_give(struct own_stack *s);
/* Is this on one of them? */
bool own_stack_has(uintptr_t address);
/* In the child of fork: those of threads that are not there are free. */
void own_stack_forked(void);

/* For what saves vector registers (probe_stubs.c): keeps the other ones as functions do, and changes none of those. Where the stack goes on, a
 * multiple of 16: at `m` itself if there is room below it, else on a stack of ours, with signals blocked; 0: no memory. back: the caller is at
 * `m` again. */
struct own_stack_move {
    uint64_t mask; /* before, where a stack was taken */
    struct own_stack *taken;
};
uintptr_t own_stack_move(struct own_stack_move *m) __attribute__((visibility("hidden")));
void own_stack_back(const struct own_stack_move *m) __attribute__((visibility("hidden")));

/* One more, which the caller unmaps; 0: no memory. */
uintptr_t own_stack_map(void);
void own_stack_unmap(uintptr_t at);

#endif
