/* SPDX-License-Identifier: BSD-3-Clause
 * See memory_frames.h. */
#include "preload/memory_frames.h"

#if defined(__x86_64__)

#include "preload/probe_clones.h"
#include "preload/walk.h"

#include <ucontext.h>

#define TRAP_FLAG 0x100
#define CALLERS 256u /* looked at for one that has a clone */

static __thread bool leaves; /* by single steps, to the next place that it can leave from */

/* Words that look so and are none are left from calls that are over. */
__attribute__((no_sanitize("address"))) bool memory_has_frames(uintptr_t from, uintptr_t to)
{
    for (uintptr_t at = (from + 7) & ~(uintptr_t)7; at + 8 <= to; at += 8)
        if (probe_clone_return(*(const uintptr_t *)at) != 0) /* NOLINT: the thread's stack */
            return true;
    return false;
}

__attribute__((no_sanitize("address"))) void memory_leave_frames(uintptr_t from)
{
    uintptr_t low, high;
    if (!probe_stack_ends(&low, &high) || from < low || from >= high)
        return;
    for (uintptr_t at = (from + 7) & ~(uintptr_t)7; at + 8 <= high; at += 8) {
        uintptr_t *word = (uintptr_t *)at; /* NOLINT: the thread's stack */
        uintptr_t back = probe_clone_return(*word);
        if (back != 0)
            *word = back;
    }
}

void memory_leave_clone(void *context)
{
    ucontext_t *uc = context;
    uintptr_t at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP], there = probe_clone_leave(at);
    bool stepped = leaves;
    leaves = there == 0 && probe_clones_have(at);
    if (there != 0)
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)there;
    if (leaves)
        uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    else if (stepped)
        uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

bool memory_stepped(const siginfo_t *info, void *context)
{
    if (!leaves || info->si_code != TRAP_TRACE)
        return false;
    memory_leave_clone(context);
    return true;
}

/* --- in ------------------------------------------------------------------------------------------------------------- */

static bool redirect(uintptr_t *back)
{
    uintptr_t clone = probe_clone_behind(*back);
    if (clone != 0)
        *back = clone;
    return clone != 0;
}

static void know_stack(struct walk *w)
{
    (void)probe_stack_ends(&w->low, &w->high);
}

static void redirect_callers(struct walk *w)
{
    know_stack(w);
    for (unsigned n = 0; n < CALLERS && walk_up(w); n++)
        if (probe_clones_have(w->r[WALK_RETURN]) || (w->back != NULL && redirect(w->back)))
            return;
}

void memory_enter_late(const struct memory_interrupted *i)
{
    struct walk w;
    if (i->context != NULL) {
        ucontext_t *uc = i->context;
        uintptr_t clone = probe_clone_at(i->at);
        if (clone != 0) {
            uc->uc_mcontext.gregs[REG_RIP] = (greg_t)clone;
            return;
        }
        walk_begin_context(&w, uc);
    } else {
        if (i->entered && redirect((uintptr_t *)i->stack)) /* NOLINT: the thread's stack */
            return;
        walk_begin_here(&w);
    }
    redirect_callers(&w);
}

uintptr_t memory_enter_target(uintptr_t at, const uintptr_t kept[6], uintptr_t stack)
{
    uintptr_t clone = probe_clone_behind(at);
    if (clone != 0)
        return clone;
    uintptr_t *above = (uintptr_t *)stack; /* NOLINT: the thread's stack */
    struct walk w;
    walk_begin_return(&w, above - 1, kept);
    w.r[WALK_RETURN] = at;
    redirect_callers(&w);
    return at;
}

void memory_enter_jump(uintptr_t *stack, const uintptr_t kept[6])
{
    uintptr_t clone = probe_clone_at(clone_slots[CLONE_TARGET]);
    (void)stack;
    (void)kept;
    if (clone != 0)
        clone_slots[CLONE_TARGET] = clone;
}

void memory_enter_leaving(uintptr_t *stack, const uintptr_t kept[6])
{
    struct walk w;
    walk_begin_return(&w, stack - 1, kept);
    w.r[WALK_RETURN] = clone_slots[CLONE_TARGET];
    w.interrupted = true;
    redirect_callers(&w);
}

void memory_enter_returning(uintptr_t *place, const uintptr_t kept[6])
{
    struct walk w;
    if (probe_clones_have(*place) || redirect(place))
        return;
    walk_begin_return(&w, place, kept);
    redirect_callers(&w);
}

#endif
