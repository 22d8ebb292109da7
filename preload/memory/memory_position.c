/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps track of where the program has left its own code, for memory.h. */
#include "preload/libc/interpose.h"
#include "preload/memory/memory_frames.h"

#if defined(__x86_64__)

#include "preload/memory/memory.h"
#include "preload/patch/probe_sites.h"
#include "preload/stack/own_stack.h"
#include "preload/stack/unwind.h"
#include "preload/stack/with_room.h"

#include <stdatomic.h>
#include <stddef.h>
#include <ucontext.h>

#define NESTED 64u /* handlers that interrupt each other */
#define FRAMES 64u /* frames of one handler */
#define MOV 7u     /* bytes of the restorer before its system call */

__thread struct memory_position memory_position;

struct memory_position memory_position_set(uintptr_t stack, uintptr_t at)
{
    struct memory_position before = memory_position;
    memory_position = (struct memory_position){.stack = stack, .at = at};
    return before;
}

struct memory_position memory_position_at_entry(uintptr_t stack, uintptr_t at)
{
    struct memory_position before = memory_position_set(stack, at);
    memory_position.entered = true;
    return before;
}

struct memory_position memory_position_of_context(void *context)
{
    const ucontext_t *uc = context;
    struct memory_position before = memory_position_set((uintptr_t)uc->uc_mcontext.gregs[REG_RSP],
                                                        (uintptr_t)uc->uc_mcontext.gregs[REG_RIP]);
    memory_position.context = context;
    return before;
}

/* The frame holds the caller's frame pointer, then the return address. */
struct memory_position memory_position_of_call(void *frame)
{
    return memory_position_at_entry((uintptr_t)frame + 8, 0);
}

/* All code of this library has the same table for unwinders. */
bool memory_is_own(uintptr_t at)
{
    const uint8_t *table = unwind_table(at);
    return table != NULL && table == unwind_table((uintptr_t)memory_is_own);
}

/* Returns the context that the kernel passed to the handler of ours that `uc` interrupted; NULL if
 * `uc` interrupted none. Walks up from `uc` to the frame that returns to `restorer`, libc's mov
 * $15, %rax; syscall: the context lies above that return address. */
static ucontext_t *handled(const ucontext_t *uc, uintptr_t restorer)
{
    struct unwind w;
    unwind_begin_context(&w, uc);
    (void)thread_stack_bounds(&w.low, &w.high);
    for (unsigned n = 0; n < FRAMES; n++) {
        uintptr_t at = w.r[UNWIND_RETURN];
        if (at - restorer <= MOV)
            return (ucontext_t *)w.r[UNWIND_RSP]; /* NOLINT: the thread's stack */
        if (!memory_is_own(at) || !unwind_up(&w))
            return NULL;
    }
    return NULL;
}

struct search {
    ucontext_t *uc;
    uintptr_t restorer;
};

static void find_outermost(void *p)
{
    struct search *s = p;
    uintptr_t at = (uintptr_t)s->uc->uc_mcontext.gregs[REG_RIP];
    if (!memory_is_own(at) && at - s->restorer > MOV)
        return;
    for (unsigned n = 0; n < NESTED; n++) {
        ucontext_t *outer = handled(s->uc, s->restorer);
        if (outer == NULL || (uintptr_t)outer->uc_mcontext.gregs[REG_RSP] == memory_handler_stack())
            break;
        s->uc = outer;
    }
}

/* Handlers of ours interrupt each other, even before the first one has executed an instruction.
 * Returns the context of the program's own code: what the outermost of our handlers interrupted. If
 * a handler of the program runs, only those of our handlers count that run on top of it. */
static ucontext_t *outermost(ucontext_t *uc)
{
    struct search s = {uc, ((const uintptr_t *)uc)[-1]};
    run_with_room(uc, find_outermost, &s);
    return s.uc;
}

/* A siglongjmp out of a handler restores nothing. That does no harm: memory_position is empty while
 * the program's own handlers run. A child of vfork has its parent's. */
struct memory_position memory_position_of_handler(void *context)
{
    struct memory_position before = memory_position;
    if (!memory_is_traced || processes_vfork_depth != 0)
        return before;
    ucontext_t *uc = before.context != NULL ? before.context : context;
    memory_position.context = uc; /* a signal that interrupts us begins here */
    atomic_signal_fence(memory_order_seq_cst);
    uc = outermost(uc);
    memory_position = (struct memory_position){.stack = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP],
                                               .at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP],
                                               .context = uc};
    return before;
}

bool memory_stack_is_known(void)
{
    return memory_position.stack != 0;
}

void memory_position_restore(struct memory_position before)
{
    memory_position = before;
}

#endif
