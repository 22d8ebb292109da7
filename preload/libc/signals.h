/* SPDX-License-Identifier: BSD-3-Clause
 * Handlers, masks and dispositions of signals: signals.c, signal_calls.c, signal_masks.c,
 * signal_cancel.c, signal_internal.c, signal_main.c, signal_run.c, signal_faults.c,
 * signal_traps.c. */
#ifndef REGTRACE_PRELOAD_LIBC_SIGNALS_H
#define REGTRACE_PRELOAD_LIBC_SIGNALS_H

#include "base/error.h"
#include "base/sys.h"
#include "preload/waits/waits.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* signals_install() reserves the internal signal and installs its handler. Returns 0, or -errno if
 * no signal is free. signals_real_sigaction() is libc's sigaction(), without our wrapper. */
int signals_install(void);
int signals_real_sigaction(int signo, const struct sigaction *act, struct sigaction *old);

/* In the child of a fork that no wrapper has seen: releases the lock of the dispositions, which a
 * thread that does not exist here may have held. */
void signals_forked(void);

/* Returns the address where the thread was interrupted, from a handler's ucontext. For an address
 * in an instrumented copy it returns the one in the original code. */
uintptr_t signals_ip_of(const void *context);

/* Signals that the program has blocked and that we keep unblocked, as bits. Per thread. */
extern __thread uint64_t signals_hidden
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Call these around exec, posix_spawn, system and popen, so that the new program inherits the
 * dispositions and the mask that the program believes to have. signals_before_exec() ignores
 * signals that the program ignores but an alarm needs, and sets the mask that the program
 * believes to have. signals_after_exec() undoes both. Both functions keep errno. */
struct signals_inherited {
    uint64_t ignored; /* bit n - 1: signal n was set to ignored meanwhile */
    bool has_mask;    /* whether another mask was set meanwhile */
    uint64_t mask;    /* the one before */
};
void signals_before_exec(struct signals_inherited *saved);
void signals_after_exec(const struct signals_inherited *saved);

/* Called in our handler: runs the program's handler of the signal, which has these flags, as if the
 * kernel had called it. Records the run if signal handlers are recorded. */
void signals_run(uintptr_t handler, int flags, int signo, siginfo_t *info, void *context);
/* Called in a handler: does what would have happened if nobody had handled the signal. */
void signals_default_action(int signo, siginfo_t *info, void *context);
/* Another process, or the program itself, has sent the internal signal while we have it. From now
 * on the signal is the program's, with the default action, since the program has set none. */
void signals_foreign(int signo, siginfo_t *info, void *context);
/* Returns the mask of the program's action, as 64 bits, with the signal itself unless the action
 * has SA_NODEFER. */
uint64_t signals_handler_mask(int signo);
/* For SIGSEGV if memory is traced; they do nothing for other signals.
 * - signals_fault_action(): makes the action block all signals but faults.
 * - signals_fault_unmask(): once a signal turns out to be the program's, sets the mask that its
 *   handler would have. */
void signals_fault_action(int signo, struct sigaction *a);
void signals_fault_unmask(int signo, const void *context);
/* Handles a signal for which the program has no handler. An ignored signal has no effect, but a
 * signal that the thread's own instruction raised kills. */
void signals_unhandled(bool ignored, int signo, siginfo_t *info, void *context);
/* The handler of SIGTRAP, and the action of it.
 * - The handler runs on the interrupted stack, because an alternate one may be tiny.
 * - It does not block SIGSEGV: at the end of a thread's stack we fault in place of the program,
 *   whose handler then learns of that. If SIGSEGV were blocked the fault would kill.
 * - The flags and the mask of the program's action are not included, because the kernel must not
 *   apply them here. */
void signals_trapped(int signo, siginfo_t *info, void *context);
struct sigaction signals_trap_action(void);
/* Undoes sys_cancel_off() at the end of a handler of ours, in this context. May not return. */
void signals_cancel_on(struct sys_cancel was, const void *context);
/* For the handler of the internal signal: returns true if that signal says that this thread can be
 * cancelled at any time again. May not return. */
bool signals_cancel_again(const siginfo_t *info, const void *context);
/* Handles a SIGTRAP that is not ours as other signals are handled, under the mask that the program
 * had, plus SIGTRAP. */
void signals_hand_on(int signo, siginfo_t *info, void *context);

/* Sets signals_hidden, and calls signals_unblocked() if a bit is gone. */
void signals_hide(uint64_t hidden);
/* signals_withhold(): a process or thread has sent this thread a signal of signals_hidden, 31 at
 * most. signals_unblocked() sends those that have left signals_hidden; signals_send_withheld()
 * sends all, which must be blocked; signals_forget_withheld() is for children of fork, which have
 * no pending signals. */
void signals_withhold(int signo, const siginfo_t *info);
void signals_unblocked(void);
void signals_send_withheld(void);
void signals_forget_withheld(void);
/* Returns what the program believes that this mask of the kernel is, with these hidden signals. */
uint64_t signals_shown_mask(uint64_t mask, uint64_t hidden);
/* Call it before the program sets a mask that it has saved (saved_masks.c): sets signals_hidden to
 * what it was then. *clean gets the 64 bits that the kernel may set; returns whether they differ
 * from those in *mask. */
bool saved_mask_restores(const sigset_t *mask, uint64_t *clean);
/* Does this set mean all signals? A set of most signals, or of most real-time signals, does. A set
 * of few signals means just those. */
bool signals_is_nearly_full(const sigset_t *set);

/* A thread has got this signal, whose action has these flags. signals_main_takes() returns true if
 * it was sent to the process and the main thread handles it instead; may wait for that thread.
 * signals_main_action() makes the action of such signals block the internal one, so that nothing of
 * ours comes before the answer. signals_main_unmask() sets the mask that the handler of the program
 * would have.
 * signals_main_is_here() returns true in the main thread.
 * signals_main_answers() is for the handler of the internal signal: returns true if that signal
 * asks the main thread, which this function then does. signals_main_ends() is called at the end of
 * each thread; signals_main_forked() in the child of a fork; signals_makes_child() by each thread
 * that is about to make a child. */
bool signals_main_takes(int signo, int flags, const siginfo_t *info, const void *context);
void signals_main_action(int signo, struct sigaction *a);
void signals_main_unmask(int signo, const void *context);
bool signals_main_answers(const siginfo_t *info, void *context);
bool signals_main_is_here(void);
void signals_main_ends(void);
void signals_main_forked(void);
void signals_makes_child(void);

/* Call these around fork, innermost: no other thread changes dispositions in between. */
void signals_before_fork(void);
void signals_after_fork(void);

/* The internal signal while we keep the program from it. 0 if there is none, or if it must be
 * shared. */
extern int signals_reserved;

/* If signo is the internal signal: the program itself uses it, so we take another one. */
void signals_give_up_internal(int signo);
void signals_adopt_mask(void);

/* Was this signal sent by us, by a timer of ours, or by our writer for `regtrace ctl`? */
bool signals_is_internal(int signo, const siginfo_t *info);

/* Returns the signals, as bits, that are or were the internal one. */
uint64_t signals_once_internal(void);
/* Called under the lock of the dispositions: reserves a signal other than `but` and installs its
 * handler. Returns 0 if none is free. */
int signals_choose_internal(int but);
/* Returns the flags of our handler for signals that the program does not handle. */
int signals_own_flags(void);

/* Returns the signals that must reach us whatever the program blocks: the internal one, SIGTRAP if
 * there are probes, SIGSEGV if memory is traced. */
uint64_t signals_kept_bits(void);

/* Returns the set to pass to the kernel: a copy in *copy without those signals, or NULL for NULL.
 * *named (may be NULL) gets those that were in the set. If a set of few signals names the internal
 * one, the program wants that very signal: gives it up first. */
const sigset_t *signals_own_set(const sigset_t *set, sigset_t *copy, uint64_t *named);

#endif
