/* SPDX-License-Identifier: BSD-3-Clause
 * All handlers of the program run through one handler of ours, and one real-time signal is ours.
 *
 * The kernel's disposition is the truth. `shown` holds what the program asked for if the kernel has
 * our handler. The kernel applies masks and flags: our handler is installed with those of the
 * program's action. A borrower (a child of vfork) sets the kernel's dispositions, which belong to
 * it, but not `shown`, which does not. */
#include "preload/libc/interpose.h"

#include "base/log.h"
#include "base/spin.h"
#include "base/sys.h"
#include "preload/libc/signals.h"
#include "preload/count/counting.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/window/interrupts.h"
#include "preload/window/parts.h"
#include "preload/window/triggers.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNALS 65
#define NATIVE_FIRST_RESERVED 32 /* glibc's own: 32 and 33 */
#define RESTORER 0x04000000

/* The action of a signal that the program sees. Our handler reads `handler` without the lock. */
struct shown_action {
    _Atomic(uintptr_t) handler; /* 0 SIG_DFL, 1 SIG_IGN, else a function */
    int flags;
    _Atomic uint64_t mask;
};

static struct shown_action shown[SIGNALS];
static spin_lock lock;
static _Atomic uint32_t installed;

int signals_reserved;
__thread uint64_t signals_hidden;
static uint64_t fork_mask; /* mask of the thread that holds the lock during a fork */

static uint64_t lock_take(void)
{
    uint64_t mask = sys_block_signals();
    spin_take(&lock);
    return mask;
}

static void lock_give(uint64_t mask)
{
    spin_give(&lock);
    sys_restore_signals(mask);
}

void signals_before_fork(void)
{
    if (atomic_load(&installed))
        fork_mask = lock_take();
}

void signals_after_fork(void)
{
    if (atomic_load(&installed))
        lock_give(fork_mask);
}

void signals_forked(void)
{
    spin_give(&lock);
    signals_main_forked();
    signals_forget_withheld();
}

static bool is_ours(const struct sigaction *a)
{
    return a->sa_sigaction == signals_handler || a->sa_sigaction == signals_trapped;
}

static uintptr_t handler_of(const struct sigaction *a)
{
    return (uintptr_t)a->sa_handler;
}

static bool is_function(uintptr_t handler)
{
    return handler != (uintptr_t)SIG_DFL && handler != (uintptr_t)SIG_IGN;
}

/* --- dispositions ----------------------------------------------------------------------------- */

/* Turns the kernel's action into the one that the program has set. */
static void show(int signo, struct sigaction *a)
{
    const struct shown_action *s = &shown[signo];
    if (is_ours(a)) {
        a->sa_handler = (__sighandler_t)atomic_load(&s->handler); /* NOLINT: a function's address */
        a->sa_flags = s->flags | (a->sa_flags & RESTORER);
    } else if (a->sa_handler == SIG_DFL && (s->flags & (int)SA_RESETHAND) != 0 &&
               is_function(atomic_load(&s->handler))) {
        a->sa_flags = s->flags | (a->sa_flags & RESTORER); /* the kernel reset the handler only */
    } else {
        return;
    }
    uint64_t mask = atomic_load(&s->mask);
    memcpy(&a->sa_mask, &mask, sizeof mask);
}

uint64_t signals_handler_mask(int signo)
{
    const struct shown_action *s = &shown[signo];
    return atomic_load(&s->mask) | ((s->flags & (int)SA_NODEFER) == 0 ? sys_signal_bit(signo) : 0);
}

/* Does this signal come to us whatever the program does with it? It does if an alarm names it, if a
 * part needs it, or if it is or was the internal signal. */
static bool always_ours(int signo)
{
    return trigger_wants_signal(signo) || parts_want_signal(signo) ||
           (signals_once_internal() & sys_signal_bit(signo)) != 0;
}

/* Returns the action that the kernel must have so that the program gets *wanted: our handler, which
 * runs before the program's handler, and before the default action if the signal always comes to
 * us. */
static struct sigaction kernel_action(int signo, const struct sigaction *wanted)
{
    struct sigaction a = *wanted;
    bool named = always_ours(signo);
    bool function = is_function(handler_of(wanted));
    if (signals_reserved != 0)
        (void)sigdelset(&a.sa_mask, signals_reserved);
    if (threads_are_stepped || code_is_patched)
        (void)sigdelset(&a.sa_mask, SIGTRAP); /* a blocked trap would kill the program */
    if (memory_is_traced)
        (void)sigdelset(&a.sa_mask, SIGSEGV); /* and so would a blocked fault */
    if (signo == SIGTRAP && parts_want_signal(SIGTRAP))
        return signals_trap_action();
    if (!function && !named)
        return a;
    a.sa_sigaction = signals_handler;
    a.sa_flags |= SA_SIGINFO;
    if (named)
        a.sa_flags &= ~(int)SA_RESETHAND; /* our handler resets the action itself, and stays */
    if (!function) {
        a.sa_flags |= signals_own_flags();
        (void)sigemptyset(&a.sa_mask);
        if (signo == SIGCHLD && wanted->sa_handler == SIG_IGN)
            a.sa_flags |= SA_NOCLDWAIT; /* children that nobody waits for still go away */
    }
    signals_main_action(signo, &a);
    signals_fault_action(signo, &a);
    return a;
}

static void note_shown(int signo, const struct sigaction *wanted)
{
    struct shown_action *s = &shown[signo];
    uint64_t mask;
    memcpy(&mask, &wanted->sa_mask, sizeof mask);
    mask &= ~(sys_signal_bit(SIGKILL) | sys_signal_bit(SIGSTOP)); /* as the kernel does */
    s->flags = wanted->sa_flags & ~RESTORER;
    atomic_store(&s->mask, mask);
    atomic_store(&s->handler, handler_of(wanted));
}

/* Called under the lock, with wanted != NULL. If the new action is not our handler, changes the
 * kernel's action first, so that a handler in flight still finds its function. Otherwise notes the
 * function first. */
static int change(int signo, const struct sigaction *wanted, struct sigaction *old)
{
    struct sigaction a = kernel_action(signo, wanted);
    bool early = is_ours(&a);
    int flags_before = shown[signo].flags;
    uint64_t mask_before = atomic_load(&shown[signo].mask);
    uintptr_t handler_before = atomic_load(&shown[signo].handler);
    int rc = NEXT(sigaction)(signo, NULL, old);
    if (rc != 0)
        return rc;
    show(signo, old);
    if (early)
        note_shown(signo, wanted);
    rc = NEXT(sigaction)(signo, &a, NULL);
    if (rc != 0 && early) {
        shown[signo].flags = flags_before;
        atomic_store(&shown[signo].mask, mask_before);
        atomic_store(&shown[signo].handler, handler_before);
    } else if (!early) {
        shown[signo].flags = 0;
    }
    return rc;
}

static int borrower_sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction before;
    int rc = NEXT(sigaction)(signo, act, &before);
    if (rc == 0 && old != NULL) {
        show(signo, &before);
        *old = before;
    }
    return rc;
}

PRELOAD_EXPORT int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    if (!atomic_load_explicit(&installed, memory_order_acquire) || signo < 1 || signo >= SIGNALS ||
        signo == SIGKILL || signo == SIGSTOP || signo == NATIVE_FIRST_RESERVED ||
        signo == NATIVE_FIRST_RESERVED + 1)
        return NEXT(sigaction)(signo, act, old);
    if (processes_vfork_depth != 0)
        return borrower_sigaction(signo, act, old);
    if (act != NULL)
        signals_give_up_internal(signo);
    struct sigaction wanted, before;
    if (act != NULL)
        wanted = *act;
    uint64_t mask = lock_take();
    int rc;
    if (act != NULL) {
        rc = change(signo, &wanted, &before);
    } else {
        rc = NEXT(sigaction)(signo, NULL, &before);
        show(signo, &before);
    }
    lock_give(mask);
    if (rc == 0 && old != NULL)
        *old = before;
    return rc;
}

/* --- delivery --------------------------------------------------------------------------------- */

/* The arguments of a handler, which run_with_room() passes to triggered(). */
struct received_signal {
    int signo;
    siginfo_t *info;
    void *context;
};

static void triggered(void *p)
{
    const struct received_signal *r = p;
    trigger_signal(r->signo, signals_ip_of(r->context));
}

static void handle_internal(siginfo_t *info, void *context, void *place)
{
    if (signals_main_answers(info, context) || signals_cancel_again(info, context) ||
        processes_vfork_depth != 0 || memory_postpones(info))
        return;
    struct sys_cancel cancel = sys_cancel_off();
    interrupted_with_room(info, context, place,
                          signals_main_is_here() || !waits_call_goes_on(context));
    signals_cancel_on(cancel, context);
}

/* Returns true if a handler of the program has run. */
static bool handle(int signo, siginfo_t *info, void *context)
{
    int keep = errno, flags = shown[signo].flags;
    uintptr_t handler = atomic_load(&shown[signo].handler);
    struct received_signal r = {.signo = signo, .info = info, .context = waits_place(context)};
    if (signals_is_internal(signo, info)) {
        handle_internal(info, context, r.context);
        errno = keep;
        return false;
    }
    /* A child of vfork inherits the program's handlers; nothing of ours runs there. */
    if (processes_vfork_depth != 0) {
        if (is_function(handler))
            ((void (*)(int, siginfo_t *, void *))handler)(signo, info, context); /* NOLINT */
        else
            signals_unhandled(handler == (uintptr_t)SIG_IGN, signo, info, context);
        return is_function(handler);
    }
    if (memory_is_fault(signo) && (signals_hidden & sys_signal_bit(signo)) != 0) {
        /* The program believes that it has blocked the signal: the kernel would end the program. */
        if (info->si_code > 0)
            signals_default_action(signo, info, context);
        else
            signals_withhold(signo, info);
        return false;
    }
    if (signo == signals_reserved) {
        signals_foreign(signo, info, context);
        errno = keep;
        return false;
    }
    if (is_function(handler) && !threads_are_stepped &&
        memory_delays(signo, flags, info, context)) {
        errno = keep;
        return false;
    }
    /* The kernel sends this SIGIO if it could not queue a signal. It may be for the program as
     * well. */
    bool unqueued = signo == SIGIO && counters_interrupt && info->si_code == SI_KERNEL;
    if (unqueued) {
        interrupted_with_room(info, context, r.context, false);
    }
    if (always_ours(signo)) {
        if ((shown[signo].flags & (int)SA_RESETHAND) != 0 && is_function(handler))
            atomic_store(&shown[signo].handler, (uintptr_t)SIG_DFL);
        struct sys_cancel cancel = sys_cancel_off();
        run_with_room(context, triggered, &r);
        signals_cancel_on(cancel, context);
    }
    bool programs = is_function(handler);
    errno = keep;
    if (programs) {
        signals_run(handler, flags, signo, info, context);
        return true;
    }
    if (!unqueued)
        signals_unhandled(handler == (uintptr_t)SIG_IGN, signo, info, context);
    errno = keep;
    return false;
}

void signals_arrived(int signo, siginfo_t *info, void *context, struct signals_seen seen)
{
    if (parts_faulted(signo, info, context))
        return;
    struct waits_arrival came = waits_arrive(info, context, seen);
    signals_fault_unmask(signo, context);
    struct memory_position before = memory_position_of_handler(context);
    struct pmu_inside inside = counting_handler_begin(context);
    came.handed_on = signals_main_takes(signo, shown[signo].flags, info, context);
    if (!came.handed_on)
        signals_main_unmask(signo, context);
    bool programs = !came.handed_on && handle(signo, info, context);
    waits_continue(context, came, programs);
    counting_handler_end(context, inside);
    memory_position_restore(before);
    waits_leave(context, came);
}

/* --- the internal signal ---------------------------------------------------------------------- */

/* Armed timers and the writer still send the old signal; signals_is_internal() recognizes it even
 * when it is the program's. If the program takes every real-time signal, the last one is shared,
 * and the program may then block ours too. */
void signals_give_up_internal(int signo)
{
    if (signo != signals_reserved)
        return;
    uint64_t mask = lock_take();
    if (signo == signals_reserved) {
        int other = signals_choose_internal(signo);
        struct sigaction plain;
        memset(&plain, 0, sizeof plain);
        signals_reserved = other;
        if (other != 0)
            process.internal_signal = other;
        else if (recorder_stream.header != NULL)
            log_line(LOG_WARNING, "the program takes every real-time signal: where it blocks them, "
                                  "timeouts and requests come late, or not at all");
        struct sigaction a =
            kernel_action(signo, &plain); /* signals on their way must find our handler */
        note_shown(signo, &plain);
        (void)NEXT(sigaction)(signo, &a, NULL);
    }
    lock_give(mask);
}

int signals_install(void)
{
    interpose_resolve_all();
    waits_prepare();
    uint64_t mask = lock_take();
    signals_reserved = process.internal_signal = signals_choose_internal(0);
    for (int n = 1; n < SIGNALS; n++) {
        struct sigaction a, ignored;
        if (n == SIGKILL || n == SIGSTOP || n == NATIVE_FIRST_RESERVED ||
            n == NATIVE_FIRST_RESERVED + 1 || n == signals_reserved ||
            NEXT(sigaction)(n, NULL, &a) != 0)
            continue;
        /* Earlier constructors may have set handlers, and a shell may have made us ignore
         * signals. */
        if (is_function(handler_of(&a)) || always_ours(n))
            (void)change(n, &a, &ignored);
    }
    atomic_store(&installed, 1);
    lock_give(mask);
    if (signals_reserved != 0)
        signals_adopt_mask();
    threads_prepare();
    processes_prepare();
    images_prepare();
    return process.internal_signal != 0 ? 0 : -EAGAIN;
}

/* --- inheritance of a new program ------------------------------------------------------------- */

void signals_before_exec(struct signals_inherited *saved)
{
    int keep = errno;
    *saved = (struct signals_inherited){0};
    if (!atomic_load(&installed))
        return;
    for (int n = 1; n < SIGNALS; n++) {
        struct sigaction a;
        if (!always_ours(n) || atomic_load(&shown[n].handler) != (uintptr_t)SIG_IGN ||
            NEXT(sigaction)(n, NULL, &a) != 0 || !is_ours(&a))
            continue;
        memset(&a, 0, sizeof a);
        a.sa_handler = SIG_IGN;
        if (NEXT(sigaction)(n, &a, NULL) == 0)
            saved->ignored |= sys_signal_bit(n);
    }
    uint64_t mask;
    (void)sys_call6(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&saved->mask, sizeof mask, 0, 0);
    mask = signals_shown_mask(saved->mask, signals_hidden);
    saved->has_mask = mask != saved->mask;
    if (saved->has_mask)
        sys_restore_signals(mask);
    errno = keep;
}

void signals_after_exec(const struct signals_inherited *saved)
{
    int keep = errno;
    for (int n = 1; n < SIGNALS && saved->ignored != 0; n++) {
        struct sigaction ignore, a;
        if ((saved->ignored & sys_signal_bit(n)) == 0)
            continue;
        memset(&ignore, 0, sizeof ignore);
        ignore.sa_handler = SIG_IGN;
        a = kernel_action(n, &ignore);
        (void)NEXT(sigaction)(n, &a, NULL);
    }
    if (saved->has_mask)
        sys_restore_signals(saved->mask);
    errno = keep;
}
