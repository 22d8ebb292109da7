/* SPDX-License-Identifier: BSD-3-Clause
 * Does with a signal, which our handler got in place of the program, what the program wants: runs
 * the program's handler, or takes the default action. */
#include "preload/libc/interpose.h"

#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

static bool default_is_nothing(int signo)
{
    return signo == SIGCHLD || signo == SIGURG || signo == SIGWINCH || signo == SIGCONT;
}

static bool default_is_stop(int signo)
{
    return signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU;
}

/* Sets the default action. A fault then happens again; this sends any other signal again. */
RT_COLD void signals_default_action(int signo, siginfo_t *info, void *context)
{
    struct sigaction plain, before;
    if (default_is_nothing(signo))
        return;
    memset(&plain, 0, sizeof plain);
    (void)NEXT(sigaction)(signo, &plain, &before);
    bool fault = info->si_code > 0 && info->si_code != SI_KERNEL &&
                 (sys_fault_signals() & sys_signal_bit(signo)) != 0;
    /* The kernel may refuse a signal with its own si_code or that of kill(). tgkill() then sends
     * the signal without *info, which has no effect on a default action. */
    if (!fault &&
        sys_call6(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), signo, (long)info, 0, 0) != 0)
        (void)sys_call6(SYS_tgkill, sys_getpid(), sys_gettid(), signo, 0, 0, 0);
    if (!default_is_stop(signo)) {
        ucontext_t *uc = context;
        (void)sigdelset(&uc->uc_sigmask, signo); /* delivered as our handler returns */
        return;
    }
    uint64_t mask = sys_signal_bit(signo);
    (void)sys_call6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mask, 0, sizeof mask, 0,
                    0); /* stops here */
    (void)NEXT(sigaction)(signo, &before, NULL);
}

RT_COLD void signals_foreign(int signo, siginfo_t *info, void *context)
{
    bool blocked = (signals_hidden & sys_signal_bit(signo)) != 0;
    signals_give_up_internal(signo);
    if (!blocked) {
        signals_default_action(signo, info, context);
        return;
    }
    ucontext_t *uc = context;
    (void)sigaddset(&uc->uc_sigmask, signo);
    (void)sys_call6(SYS_rt_sigqueueinfo, sys_getpid(), signo, (long)info, 0, 0, 0);
}

void signals_unhandled(bool ignored, int signo, siginfo_t *info, void *context)
{
    bool raised = info->si_code > 0 && (sys_raised_signals() & sys_signal_bit(signo)) != 0;
    if (!ignored || raised)
        signals_default_action(signo, info, context);
}

/* --- the program's handler -------------------------------------------------------------------- */

/* Shows the handler the mask that it would have without us, and in its context the mask to which it
 * returns: the kernel's masks lack the signals that must reach us. Returns those that are really
 * blocked: the handler may have interrupted code of ours. */
static uint64_t show_masks(int signo, ucontext_t *uc)
{
    uint64_t mask, shown, kept = signals_kept_bits();
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    shown = signals_shown_mask(mask, signals_hidden);
    memcpy(&uc->uc_sigmask, &shown, sizeof shown);
    signals_hidden |= signals_handler_mask(signo) & kept;
    return mask & kept;
}

/* The handler returns to the mask in its context, which it may have changed. */
static void take_mask(ucontext_t *uc, uint64_t blocked)
{
    uint64_t mask, kept = signals_kept_bits();
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    signals_hide(mask & kept);
    mask = (mask & ~kept) | blocked;
    memcpy(&uc->uc_sigmask, &mask, sizeof mask);
}

static void run(uintptr_t handler, int signo, siginfo_t *info, void *context)
{
    struct recorder_thread *t = &recorder_self;
    uint32_t in_toolkit = t->in_toolkit;
    bool attached = recorder_is_attached(t);
    if (attached)
        t->in_toolkit = 0; /* even if it interrupted our code, it is the program's */
    struct probe_fault fault = probes_fault_begins(info, context);
    struct memory_handler *memory =
        memory_handler_begins((uintptr_t)__builtin_frame_address(0), info, context);
    uint64_t blocked = show_masks(signo, context);
    struct pmu_inside inside = counting_program_begin();
    ((void (*)(int, siginfo_t *, void *))handler)(signo, info,
                                                  context); /* NOLINT: a function's address */
    counting_program_end(inside);
    take_mask(context, blocked);
    memory_handler_ends(memory, context);
    probes_fault_ends(&fault, context);
    if (attached)
        t->in_toolkit = in_toolkit;
}

/* One run of a program's handler. begins() and ends() record its edges, on a stack with enough
 * room. */
struct handler_run {
    int signo;
    void *context;
    int32_t window;
    bool recorded;
};

static void begins(void *p)
{
    struct handler_run *r = p;
    struct recorder_thread *t = &recorder_self;
    r->recorded = recorder_active(t);
    r->window = t->window;
    if (r->recorded)
        (void)recorder_emit(t, EV_SIGNAL_ENTER, (uint64_t)r->signo, signals_ip_of(r->context));
}

static void ends(void *p)
{
    const struct handler_run *r = p;
    struct recorder_thread *t = &recorder_self;
    if (recorder_active(t) && t->window == r->window)
        (void)recorder_emit(t, EV_SIGNAL_LEAVE, (uint64_t)r->signo, 0);
}

void signals_run(uintptr_t handler, int flags, int signo, siginfo_t *info, void *context)
{
    struct handler_run r = {.signo = signo, .context = waits_place(context)};
    int keep = errno;
    bool restarts = (flags & (int)SA_RESTART) != 0;
    /* Do not wait for the writer here, unless an edge of a window is due. Meanwhile the kernel
     * would deliver further such signals to other threads, such as MPI's own, which block fewer
     * signals than the program expects. */
    uint32_t hurry = recorder_self.hurry; /* set if an edge waits there, and this interrupts it */
    recorder_self.hurry = 1;
    if (process.traced && process.options.number[OPT_record_signals] != 0)
        run_with_room(context, begins, &r);
    recorder_self.hurry = 0;
    waits_program_comes(context, restarts);
    signals_seen.program++;
    signals_seen.breaking += !restarts;
    errno = keep;
    run(handler, signo, info, context);
    keep = errno;
    recorder_self.hurry = 1;
    if (r.recorded)
        run_with_room(context, ends, &r);
    recorder_self.hurry = hurry;
    errno = keep;
}
