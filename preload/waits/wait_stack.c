/* SPDX-License-Identifier: BSD-3-Clause
 * Continues a call on another stack if the one that our handler is on has too little room for what
 * may come on top of it: handlers of the program, or what unwinds a cancelled thread. */
#include "preload/waits/interrupted_call.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/memory/memory_frames.h"
#include "preload/stack/own_stack.h"
#include "preload/thread.h"

#include <string.h>

/* Returns how much of the stack the kernel takes for the frame of a handler. */
static uintptr_t frame_bytes(const ucontext_t *uc)
{
    uintptr_t state = (uintptr_t)uc->uc_mcontext.fpregs;
    uint32_t bytes = 0;
    if (state > (uintptr_t)uc)
        memcpy(&bytes, (const char *)state + 464 + 4, sizeof bytes); /* struct _fpx_sw_bytes */
    return bytes != 0 ? state - (uintptr_t)uc + bytes : sizeof *uc;
}

/* Returns the thread's stack for continued calls, or 0 without memory. */
static uintptr_t wait_stack(void)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    if (pt != NULL && pt->wait_stack == 0)
        pt->wait_stack = own_stack_map();
    return pt != NULL ? pt->wait_stack : 0;
}

static bool is_on_alternate(const ucontext_t *uc, uintptr_t here)
{
    return here - (uintptr_t)uc->uc_stack.ss_sp < uc->uc_stack.ss_size;
}

bool wait_has_room(const ucontext_t *uc)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), room = 2 * frame_bytes(uc) + 8192;
    uintptr_t low, high;
    if (is_on_alternate(uc, here))
        return here - (uintptr_t)uc->uc_stack.ss_sp >= room;
    /* On a stack of the program's own making, a coroutine's, frames stay where they are: there may
     * be many such stacks, and the thread has one to move to. */
    return !thread_stack_bounds(&low, &high) || here - low >= high - low || here - low >= room;
}

/* Is this range mapped? That is all we can find out: another stack may lie there without a guard
 * page in between. */
static bool is_memory(uintptr_t from, uintptr_t to)
{
    char byte;
    for (; from < to; from += TEXT_PAGE)
        if (sys_read_self(from, &byte, 1) != 1)
            return false;
    return sys_read_self(to - 1, &byte, 1) == 1;
}

struct elsewhere {
    ucontext_t *uc;
    struct wait_broken broken;
    struct waits_arrival came;
};

/* Adjusts the chain of frame pointers in the copy, so that unwinders stay in the copy. `first` is a
 * slot of the copy. Moves each pointer into [from, from + bytes) to `to`; with back, undoes
 * that. */
static void move_frame_pointers(uintptr_t *first, uintptr_t from, uintptr_t to, size_t bytes,
                                bool back)
{
    uintptr_t *slot = first;
    while (*slot - (back ? to : from) < bytes - sizeof *slot) {
        uintptr_t there = *slot + (back ? 0 : to - from);
        *slot = back ? there - (to - from) : there;
        slot = (uintptr_t *)there; /* NOLINT: in the copy */
    }
}

/* Continues the call. Everything that this function uses is in the copy. */
static void go_on_elsewhere(struct elsewhere *e, char *from, char *to, size_t bytes)
{
    ucontext_t *uc = (ucontext_t *)(to + ((char *)e->uc - from));
    uintptr_t *frame = (uintptr_t *)(void *)to + 1; /* the saved %rbx is below it */
    void *kept = memory_position.context;
    if (kept == e->uc)
        memory_position.context = uc;
    move_frame_pointers(frame, (uintptr_t)from, (uintptr_t)to, bytes, false);
    wait_go_on(uc, &e->broken, e->came);
    (void)sys_block_signals();
    move_frame_pointers(frame, (uintptr_t)from, (uintptr_t)to, bytes, true);
    memory_position.context = kept;
    memcpy(from, to, bytes);
}

void waits_elsewhere(uintptr_t below, uintptr_t end,
                     void (*function)(struct elsewhere *e, char *from, char *to, size_t bytes),
                     struct elsewhere *argument) __attribute__((visibility("hidden")));

/* If the alternate stack is small: moves to the interrupted stack, where a handler without
 * SA_ONSTACK would run, and continues the call there. Returns false if that stack has no room or is
 * the alternate stack itself. */
static bool move_to_interrupted(ucontext_t *uc, struct elsewhere *e)
{
    enum { RED_ZONE = 128, ROOM = 4096 }; /* for our code and one more of our signals */
    uintptr_t low = (uintptr_t)uc->uc_stack.ss_sp, end = low + uc->uc_stack.ss_size;
    uintptr_t stack = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
    uintptr_t bytes = end - (uintptr_t)__builtin_frame_address(0);
    if (stack - low < uc->uc_stack.ss_size || !is_memory(stack - bytes - ROOM, stack))
        return false;
    waits_elsewhere(stack - RED_ZONE, end, go_on_elsewhere, e);
    return true;
}

bool wait_move_stack(ucontext_t *uc, const struct wait_broken *b, struct waits_arrival came)
{
    struct elsewhere e = {.uc = uc, .broken = *b, .came = came};
    if (is_on_alternate(uc, (uintptr_t)__builtin_frame_address(0)))
        return move_to_interrupted(uc, &e);
    uintptr_t stack = wait_stack();
    if (stack == 0) { /* no memory: the thread's own stack may do */
        wait_go_on(uc, b, came);
        return true;
    }
    waits_elsewhere(stack + OWN_STACK_BYTES, (uintptr_t)uc + frame_bytes(uc), go_on_elsewhere, &e);
    return true;
}

#endif
