/* SPDX-License-Identifier: BSD-3-Clause
 * Hands signals of the process to the main thread. The kernel sends them to that thread unless it
 * blocks them or is about to handle another signal. So one of ours, or its handler, makes the
 * kernel choose another thread. Programs rely on the choice: a handler may siglongjmp() to where
 * the main thread called sigsetjmp().
 *
 * The other thread asks the main thread by the internal signal, and waits for the answer. The main
 * thread knows its own mask. If it takes the signal it sends it to itself, because the kernel lets
 * no other thread send a siginfo_t like that of kill(). */
#include "preload/libc/interpose.h"

#include "base/spin.h"
#include "base/sys.h"
#include "preload/libc/signals.h"
#include "preload/process.h"
#include "preload/window/interrupts.h"

#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define ANSWER_NS INT64_C(200000000) /* most time to wait: the main thread may be in vfork() */

enum question_state { NO_QUESTION, ASKED, BEING_ANSWERED, TAKEN, REFUSED };

/* Shared by all threads; the lock is held from the question to the end of it. */
static struct {
    spin_lock lock;
    _Atomic uint32_t state; /* enum question_state */
    siginfo_t info;
} question;

static _Atomic uint32_t main_has_ended;
/* A question was not answered in time, and the signal that asks still waits for the main thread. It
 * blocks that signal, or has ended by a raw system call. */
static _Atomic uint32_t main_is_silent;
/* The thread that makes child processes: 0 none yet, SEVERAL if there are more. */
static _Atomic uint32_t parent_thread;
#define SEVERAL UINT32_MAX

bool signals_main_is_here(void)
{
    return sys_gettid() == (pid_t)process.pid;
}

void signals_main_ends(void)
{
    if (signals_main_is_here())
        atomic_store(&main_has_ended, 1);
}

void signals_main_forked(void)
{
    atomic_store(&question.state, NO_QUESTION);
    spin_give(&question.lock);
    atomic_store(&main_has_ended, 0);
    atomic_store(&main_is_silent, 0);
    atomic_store(&parent_thread, 0);
}

void signals_makes_child(void)
{
    uint32_t none = 0, thread = (uint32_t)sys_gettid();
    if (!atomic_compare_exchange_strong(&parent_thread, &none, thread) && none != thread)
        atomic_store(&parent_thread, SEVERAL);
}

/* Can this signal be for the main thread first? The kernel raises SIGPIPE and SIGXFSZ in a thread,
 * with the si_code of kill(). It prefers the thread that runs for SIGPROF and SIGVTALRM. */
static bool can_be_for_main(int signo)
{
    const uint64_t others = sys_raised_signals() | sys_signal_bit(SIGPIPE) |
                            sys_signal_bit(SIGXFSZ) | sys_signal_bit(SIGPROF) |
                            sys_signal_bit(SIGVTALRM);
    return (others & sys_signal_bit(signo)) == 0 && signo != signals_reserved;
}

/* Is it surely a signal of the process that prefers the main thread? Of a child's end the kernel
 * tells the thread that has made the child. */
static bool is_of_process(int signo, const siginfo_t *info)
{
    const uint64_t kernels = sys_signal_bit(SIGALRM) | sys_signal_bit(SIGINT) |
                             sys_signal_bit(SIGQUIT) | sys_signal_bit(SIGTSTP) |
                             sys_signal_bit(SIGTTIN) | sys_signal_bit(SIGTTOU) |
                             sys_signal_bit(SIGHUP) | sys_signal_bit(SIGWINCH);
    if (signo == SIGCHLD && info->si_code > 0)
        return atomic_load(&parent_thread) == process.pid;
    return info->si_code == SI_USER ||
           (info->si_code == SI_KERNEL && (kernels & sys_signal_bit(signo)) != 0);
}

/* A child of a raw fork has no thread with its parent's id. With SA_RESETHAND the kernel has reset
 * the action, so the signal must not be sent again. */
static bool may_ask(int signo, int flags, const siginfo_t *info, const void *context)
{
    return can_be_for_main(signo) && is_of_process(signo, info) &&
           (flags & (int)SA_RESETHAND) == 0 && processes_vfork_depth == 0 && process.traced &&
           atomic_load(&main_has_ended) == 0 && atomic_load(&main_is_silent) == 0 &&
           !signals_main_is_here() && sys_getpid() == (pid_t)process.pid &&
           waits_call_can_go_on(context);
}

static bool ask(const siginfo_t *info)
{
    uint32_t asked = ASKED;
    question.info = *info;
    atomic_store(&question.state, ASKED);
    bool sent = process_interrupt_thread(process.pid, INTERRUPT_SIGNAL);
    if (sent)
        sys_futex_wait(&question.state, ASKED, ANSWER_NS);
    if (atomic_load(&question.state) == ASKED) {
        atomic_store(&main_is_silent, sent); /* signals_main_answers() clears it */
        if (atomic_compare_exchange_strong(&question.state, &asked, NO_QUESTION))
            return false;
        atomic_store(&main_is_silent, 0);
    }
    while (atomic_load(&question.state) == BEING_ANSWERED)
        sys_relax();
    return atomic_load(&question.state) == TAKEN;
}

/* If the main thread takes the signal, all signals stay blocked until our handler returns: another
 * handler on top of it would make the kernel forget how to continue the system call that it has
 * interrupted. */
bool signals_main_takes(int signo, int flags, const siginfo_t *info, const void *context)
{
    if (RT_LIKELY(!may_ask(signo, flags, info, context)))
        return false;
    uint64_t mask = sys_block_signals();
    spin_take(&question.lock);
    bool taken = ask(info);
    spin_give(&question.lock);
    if (!taken)
        sys_restore_signals(mask);
    return taken;
}

/* So no signal of ours comes on top of our handler before it has asked: see
 * signals_main_takes(). */
void signals_main_action(int signo, struct sigaction *a)
{
    if (signals_reserved != 0 && can_be_for_main(signo))
        (void)sigaddset(&a->sa_mask, signals_reserved);
}

/* Unblocks what signals_main_action() has blocked, and nothing else: a handler that interrupts
 * sigsuspend() or ppoll() has the mask of that call, while its context has the mask from before.
 * The internal signal may be another one by now. */
void signals_main_unmask(int signo, const void *context)
{
    const ucontext_t *uc = context;
    uint64_t mask, ours = signals_once_internal();
    if (!can_be_for_main(signo))
        return;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    ours &= ~(mask | (signals_handler_mask(signo) & ~signals_kept_bits()));
    (void)sys_call6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&ours, 0, sizeof ours, 0, 0);
}

/* Sends the main thread, which is here, the signal that it has been asked about, unless it blocks
 * that. */
static enum question_state take(void *context)
{
    const ucontext_t *uc = context;
    uint64_t mask;
    int signo = question.info.si_signo;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    mask = waits_mask(waits_place(context), signals_shown_mask(mask, signals_hidden));
    bool sent = (mask & sys_signal_bit(signo)) == 0 &&
                sys_call6(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), signo,
                          (long)&question.info, 0, 0) == 0;
    return sent ? TAKEN : REFUSED;
}

bool signals_main_answers(const siginfo_t *info, void *context)
{
    uint32_t asked = ASKED;
    if (!interrupt_has_code(info, INTERRUPT_SIGNAL))
        return false;
    if (processes_vfork_depth != 0)
        return true;
    bool waited = atomic_compare_exchange_strong(&question.state, &asked, BEING_ANSWERED);
    atomic_store(&main_is_silent, 0);
    if (!waited)
        return true;
    atomic_store(&question.state, take(context));
    sys_futex_wake(&question.state, 1);
    return true;
}
