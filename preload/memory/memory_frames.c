/* SPDX-License-Identifier: BSD-3-Clause
 * Leads threads into instrumented copies and out of them in mid-function, and redirects jumps and
 * exceptions. */
#include "preload/memory/memory_frames.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/libc/interpose.h"
#include "preload/memory/memory_copies.h"
#include "preload/process.h"
#include "preload/stack/own_stack.h"
#include "preload/stack/unwind.h"
#include "preload/stack/with_room.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100
#define CALLERS 256u /* callers searched for one that has a copy */

/* The thread makes single steps, up to the next place where it can leave a copy. */
static __thread bool stepping_out;

/* A word that looks like a return address but is none remains from a call that is over. */
__attribute__((no_sanitize("address"))) bool memory_has_frames(uintptr_t from, uintptr_t to)
{
    for (uintptr_t at = (from + 7) & ~(uintptr_t)7; at + 8 <= to; at += 8)
        if (memory_copy_return(*(const uintptr_t *)at) != 0) /* NOLINT: the thread's stack */
            return true;
    return false;
}

__attribute__((no_sanitize("address"))) void memory_leave_frames(uintptr_t from, uintptr_t to)
{
    uintptr_t low, high;
    memory_leave_slots(&memory_self->flight, &copy_slots[COPY_TARGET]);
    if (!thread_stack_bounds(&low, &high) || from < low || from >= high)
        return;
    high = to < high ? to : high;
    for (uintptr_t at = (from + 7) & ~(uintptr_t)7; at + 8 <= high; at += 8) {
        uintptr_t *word = (uintptr_t *)at; /* NOLINT: the thread's stack */
        uintptr_t back = memory_copy_return(*word);
        if (back != 0)
            *word = back;
    }
}

bool memory_is_made(uintptr_t at)
{
    return memory_copies_have(at) || unwind_is_made(at);
}

/* While a thread makes single steps, pushfq would store the trap flag. Does its work without the
 * flag. */
static void push_flags(greg_t *r)
{
    enum { PUSHFQ = 0x9c };
    if (*(const uint8_t *)r[REG_RIP] != PUSHFQ) /* NOLINT: code that is about to run */
        return;
    uint64_t flags = (uint64_t)r[REG_EFL] & ~(uint64_t)TRAP_FLAG;
    r[REG_RIP]++;
    r[REG_RSP] -= (greg_t)sizeof flags;
    memcpy((void *)r[REG_RSP], &flags, sizeof flags); /* NOLINT: the thread's stack */
}

void memory_step(void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    push_flags(r);
    r[REG_EFL] |= TRAP_FLAG;
}

void memory_step_no_more(void *context)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

void memory_leave_made(void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)r[REG_RIP], there = memory_copy_leave(at);
    bool stepped = stepping_out;
    memory_self->stepped_at = at;
    stepping_out = there == 0 && memory_is_made(at) && at != memory_self->repeats;
    if (there != 0)
        r[REG_RIP] = (greg_t)there;
    if (stepping_out) {
        memory_step(context);
        return;
    }
    if (stepped || memory_self->delayed != 0)
        memory_step_no_more(context);
    if (memory_self->delayed != 0)
        memory_delayed_come(context);
}

void memory_stop_steps(struct memory_handler *h, void *context)
{
    greg_t flags = ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    bool here = (flags & TRAP_FLAG) != 0;
    h->stepping_below = stepping_out && !here;
    h->delayed_below = 0;
    if (stepping_out || memory_self->delayed != 0)
        memory_step_no_more(context);
    stepping_out = false;
    if (memory_self->delayed == 0 || !memory_thread_exists())
        return;
    if (here) {
        memory_delayed_come(context);
    } else {
        h->delayed_below = memory_self->delayed;
        memory_self->delayed = 0;
    }
}

void memory_step_again(const struct memory_handler *h)
{
    if (h->stepping_below)
        stepping_out = true;
    if (h->delayed_below != 0)
        memory_self->delayed = h->delayed_below;
}

bool memory_stepped(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    const ucontext_t *uc = context;
    uintptr_t at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    if ((!stepping_out && memory_self->delayed == 0) || info->si_code != TRAP_TRACE)
        return false;
    if (!stepping_out) {
        memory_delayed_step(context);
        return true;
    }
    memory_self->repeats = at == memory_self->stepped_at && !memory_copies_have(at) ? at : 0;
    memory_leave_made(context);
    if (!stepping_out)
        run_with_room(context, memory_begin_late, context);
    return true;
}

/* Within a string instruction in a copy: returns the address as if the instruction were about to
 * begin. */
static uintptr_t place_of(const void *context)
{
    struct unwind w;
    unwind_begin_context(&w, context);
    return unwind_up(&w) ? w.r[UNWIND_RETURN] : 0;
}

bool memory_has_left_made(void)
{
    ucontext_t *uc = memory_position.context;
    if (!memory_is_made(memory_position.at))
        return true;
    if (uc == NULL)
        return !memory_copies_have(memory_position.at);
    memory_leave_made(uc);
    memory_position.at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    if (!stepping_out && memory_position.at == memory_self->repeats)
        memory_position.at = place_of(uc);
    return !stepping_out;
}

/* --- jumps ------------------------------------------------------------------------------------ */

/* All jumps lead here. setjmp returns, so registers that functions need not preserve are free.
 * Until the last instruction, the target may still change. */
void memory_landing(void);
void memory_landing_jump(void);
__asm__("	.pushsection .text\n"
        "	.hidden	memory_landing\n"
        "	.hidden	memory_landing_jump\n"
        "	.type	memory_landing, @function\n"
        "	.type	memory_landing_jump, @function\n"
        "memory_landing:\n"
        "	mov	memory_self@gottpoff(%rip), %rcx\n"
        "	mov	%fs:(%rcx), %rcx\n"
        "	movq	$0, 8(%rcx)\n"
        "memory_landing_jump:\n"
        "	jmp	*(%rcx)\n"
        "	.size	memory_landing_jump, . - memory_landing_jump\n"
        "	.size	memory_landing, . - memory_landing\n"
        "	.popsection\n");
_Static_assert(offsetof(struct memory_thread, flight.target) == 0 &&
                   offsetof(struct memory_thread, flight.under_way) == 8,
               "as above");

/* All exceptions lead here. Landing pads get what they need in rax, rdx and the registers that
 * functions preserve. */
void memory_thrown(void);
__asm__("	.pushsection .text\n"
        "	.hidden	memory_thrown\n"
        "	.type	memory_thrown, @function\n"
        "memory_thrown:\n"
        "	.cfi_startproc\n"
        "	.cfi_undefined rip\n"
        "	.irp	register, rax, rdx, r15, r14, r13, r12, rbp, rbx\n"
        "	push	%\\register\n"
        "	.endr\n"
        "	mov	%rsp, %rdi\n"
        "	lea	64(%rsp), %rsi\n"
        "	mov	%rsp, %rbx\n"
        "	and	$-16, %rsp\n"
        "	call	memory_lands\n"
        "	mov	%rbx, %rsp\n"
        "	.irp	register, rbx, rbp, r12, r13, r14, r15, rdx, rax\n"
        "	pop	%\\register\n"
        "	.endr\n"
        "	jmp	memory_landing\n"
        "	.cfi_endproc\n"
        "	.size	memory_thrown, . - memory_thrown\n"
        "	.popsection\n");

uintptr_t memory_flight_lands(void)
{
    return (uintptr_t)memory_landing;
}

static void leave_flight(struct memory_flight *flight)
{
    uintptr_t itself = flight->pad != 0 ? flight->pad : memory_copy_return(flight->target);
    if (itself != 0)
        flight->target = itself;
}

void memory_leave_slots(struct memory_flight *flight, uint64_t *target)
{
    uintptr_t itself = memory_copy_leave(*target);
    if (itself != 0)
        *target = itself;
    leave_flight(flight);
}

bool memory_longjmp_begins(uintptr_t at, const uintptr_t kept[6], uintptr_t stack)
{
    if (!memory_thread_ready())
        return false;
    struct memory_flight *f = &memory_self->flight;
    f->under_way = 0;
    atomic_signal_fence(memory_order_seq_cst);
    f->target = at;
    f->pad = 0;
    f->from_copy = memory_copy_return(at) != 0;
    f->is_thrown = f->opened = false;
    memcpy(f->kept, kept, sizeof f->kept);
    f->stack = stack;
    leave_flight(f);
    atomic_signal_fence(memory_order_seq_cst);
    f->under_way = 1;
    return true;
}

uintptr_t memory_throw(uintptr_t pad)
{
    if (!memory_thread_ready())
        return pad;
    struct memory_flight *f = &memory_self->flight;
    f->under_way = 0;
    atomic_signal_fence(memory_order_seq_cst);
    f->target = f->pad = pad;
    f->is_thrown = true;
    f->opened = false;
    atomic_signal_fence(memory_order_seq_cst);
    f->under_way = 1;
    return (uintptr_t)memory_thrown;
}

/* Call it with signals blocked. */
void memory_flight_at(const uintptr_t kept[6], uintptr_t stack)
{
    memcpy(memory_self->flight.kept, kept, sizeof memory_self->flight.kept);
    memory_self->flight.stack = stack;
    memory_self->flight.is_thrown = false;
}

/* --- entry ------------------------------------------------------------------------------------ */

static void say_missing(uintptr_t at, enum copy_question_kind kind)
{
    if (memory_copy_refused(at, kind))
        memory_missing(at);
}

static bool redirect(uintptr_t *back)
{
    uintptr_t copy = memory_copy_after(*back);
    if (copy != 0)
        *back = copy;
    else
        say_missing(*back, COPY_ASK_BEHIND);
    return copy != 0;
}

static void know_stack(struct unwind *w)
{
    (void)thread_stack_bounds(&w->low, &w->high);
}

static void enter_hook(const struct unwind *w, bool returns);

static void redirect_callers(struct unwind *w)
{
    know_stack(w);
    for (unsigned n = 0; n < CALLERS; n++) {
        enum memory_copy_hook hook = memory_copy_hook(w->r[UNWIND_RETURN]);
        if (!unwind_up(w))
            return;
        if (hook != MEMORY_COPY_NO_HOOK && memory_copies_have(w->r[UNWIND_RETURN])) {
            enter_hook(w, hook == MEMORY_COPY_RETURNS);
            return;
        }
        if (memory_copies_have(w->r[UNWIND_RETURN]) || (w->back != NULL && redirect(w->back)))
            return;
    }
}

static void enter_target(struct memory_flight *to)
{
    struct unwind w;
    if (to->is_thrown) { /* done when it lands */
        to->opened = true;
        return;
    }
    uintptr_t copy = to->pad != 0 ? memory_copy_at(to->pad) : memory_copy_after(to->target);
    if (copy != 0) {
        to->target = copy;
        return;
    }
    say_missing(to->target, COPY_ASK_BEHIND);
    unwind_begin_return(&w, (uintptr_t *)to->stack - 1, to->kept); /* NOLINT: the thread's stack */
    w.r[UNWIND_RETURN] = to->target;
    w.interrupted = to->pad != 0;
    redirect_callers(&w);
}

void memory_enter_late(const struct memory_position *i)
{
    struct unwind w;
    if (memory_self->flight.under_way != 0 || i->at == (uintptr_t)memory_landing_jump) {
        enter_target(&memory_self->flight);
        return;
    }
    if (i->context != NULL) {
        ucontext_t *uc = i->context;
        if (memory_decide_again(uc))
            return;
        uintptr_t copy = memory_copy_at(i->at);
        if (copy != 0) {
            uc->uc_mcontext.gregs[REG_RIP] = (greg_t)copy;
            return;
        }
        say_missing(i->at, COPY_ASK_AT);
        unwind_begin_context(&w, uc);
    } else {
        if (i->entered && redirect((uintptr_t *)i->stack)) /* NOLINT: the thread's stack */
            return;
        unwind_begin_here(&w);
    }
    redirect_callers(&w);
}

void memory_misses(uintptr_t at)
{
    uint64_t mask = sys_block_signals();
    memory_missing(at);
    if (copy_slots[COPY_ENTER] != 0)
        memory_enter_late(&memory_position);
    sys_restore_signals(mask);
}

void memory_enter_again(void *context)
{
    ucontext_t *uc = context;
    uint64_t mask = sys_block_signals();
    struct memory_position before = memory_position_of_context(uc);
    if (copy_slots[COPY_ENTER] != 0 && process.traced && !memory_is_made(memory_position.at))
        memory_enter_late(&memory_position);
    memory_position_restore(before);
    sys_restore_signals(mask);
}

/* --- hooks ------------------------------------------------------------------------------------ */

static void enter_leaving(uintptr_t *stack, const uintptr_t kept[6])
{
    struct unwind w;
    unwind_begin_return(&w, stack - 1, kept);
    w.r[UNWIND_RETURN] = copy_slots[COPY_TARGET];
    w.interrupted = true;
    redirect_callers(&w);
}

/* A PLT stub in which a window has found the thread leads to another image; a function may end the
 * same way. */
static void enter_jump(uintptr_t *stack, const uintptr_t kept[6])
{
    uintptr_t copy = memory_copy_at(copy_slots[COPY_TARGET]);
    if (copy != 0) {
        copy_slots[COPY_TARGET] = copy;
        return;
    }
    say_missing(copy_slots[COPY_TARGET], COPY_ASK_AT);
    enter_leaving(stack, kept);
}

static void enter_returning(uintptr_t *place, const uintptr_t kept[6])
{
    struct unwind w;
    if (redirect(place))
        return;
    unwind_begin_return(&w, place, kept);
    redirect_callers(&w);
}

/* A window opens while the thread is in a hook that the last window's copy has called. Treats the
 * thread as if it stood where the hook is about to lead. */
static void enter_hook(const struct unwind *w, bool returns)
{
    enum { BEHIND = 128 / sizeof(uintptr_t) };
    const uintptr_t kept[6] = {w->r[UNWIND_RBX],     w->r[UNWIND_RBP],     w->r[UNWIND_R12],
                               w->r[UNWIND_R12 + 1], w->r[UNWIND_R12 + 2], w->r[UNWIND_R12 + 3]};
    uintptr_t *stack = (uintptr_t *)w->r[UNWIND_RSP]; /* NOLINT: the thread's stack */
    if (returns)
        enter_returning(stack, kept);
    else
        enter_jump(stack + BEHIND, kept);
}

bool memory_decide_again(void *context)
{
    enum { MOST = 8, DIRECTION_FLAG = 0x400 };
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    struct unwind w;
    unwind_begin_context(&w, uc);
    know_stack(&w);
    for (unsigned n = 0; n < MOST && memory_is_own(w.r[UNWIND_RETURN]); n++) {
        uintptr_t again = memory_copy_hook_again(w.r[UNWIND_RETURN]);
        if (again != 0) {
            r[REG_RIP] = (greg_t)again;
            r[REG_RBX] = (greg_t)w.r[UNWIND_RBX];
            r[REG_RSP] = r[REG_RBX] & -64;
            r[REG_EFL] &= ~(greg_t)DIRECTION_FLAG;
            return true;
        }
        if (!unwind_up(&w))
            return false;
    }
    return false;
}

/* Does the work of a hook if a window is open: it may have closed since the hook looked. */
static void in_window(void (*enter)(uintptr_t *, const uintptr_t *), uintptr_t *stack, uintptr_t to,
                      const uintptr_t kept[6])
{
    uint64_t mask = sys_block_signals();
    if (copy_slots[COPY_ENTER] != 0 && !memory_copies_have(to))
        enter(stack, kept);
    sys_restore_signals(mask);
}

void memory_enter_jump(uintptr_t *stack, const uintptr_t kept[6])
{
    in_window(enter_jump, stack, copy_slots[COPY_TARGET], kept);
}

void memory_enter_leaving(uintptr_t *stack, const uintptr_t kept[6])
{
    in_window(enter_leaving, stack, copy_slots[COPY_TARGET], kept);
}

void memory_enter_returning(uintptr_t *place, const uintptr_t kept[6])
{
    in_window(enter_returning, place, *place, kept);
}

#endif
