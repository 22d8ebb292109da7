/* SPDX-License-Identifier: BSD-3-Clause
 * What the wrappers of preload/ share: the functions behind them, and whether this is a child that borrows
 * its parent's memory. */
#ifndef REGTRACE_PRELOAD_LIBC_INTERPOSE_H
#define REGTRACE_PRELOAD_LIBC_INTERPOSE_H

#include "preload/preload.h"
#include "preload/libc/waits.h"

#include "base/error.h"

#include <dlfcn.h>

enum interpose_name {
#define X(name) INTERPOSE_##name,
#include "preload/libc/interpose.def"
#undef X
    INTERPOSE_COUNT
};

extern void *_Atomic interpose_next[INTERPOSE_COUNT];

/* Look one up (dlsym); all of them, so that later uses in handlers and vfork children look nothing up. */
void *interpose_resolve(enum interpose_name i);
void interpose_resolve_all(void);

static inline void *interpose_get(enum interpose_name i)
{
    void *p = atomic_load_explicit(&interpose_next[i], memory_order_relaxed);
    return RT_LIKELY(p != NULL) ? p : interpose_resolve(i);
}

/* The next definition of a function, typed; NULL only where libc has none. */
#define NEXT(name) ((__typeof__(&name))interpose_get(INTERPOSE_##name))

/* > 0 between vfork and the exec or exit of the child: this thread's memory is used by the child now. */
extern __thread uint32_t processes_vfork_depth
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* This process shares its memory, or was made by a raw clone: it must change nothing of ours. One system call. */
bool processes_is_borrower(void);

/* Bits of signals that the program blocked and we did not. Per thread. */
extern __thread uint64_t signals_hidden
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Before and after exec, posix_spawn, system, popen: what a new program inherits is what the program set, ignored
 * signals that an alarm names, and the internal signal's bit in the mask, included. Keeps errno. */
struct signals_inherited {
    uint64_t ignored; /* bit n - 1: made ignored for the time */
    uint64_t hidden;  /* those of signals_hidden that were blocked for the time */
};
void signals_before_exec(struct signals_inherited *saved);
void signals_after_exec(const struct signals_inherited *saved);

/* Called in our handler: runs the program's handler of the signal, which has these flags, as if the
 * kernel had called it. Records the run if signal handlers are recorded. */
void signals_run(uintptr_t handler, int flags, int signo, siginfo_t *info, void *context);
/* From a handler: what would have happened had nobody handled the signal. */
void signals_default_action(int signo, siginfo_t *info, void *context);
/* SIGSEGV where memory traces use it: what its action is to block, what the program asked for, and, once it is the program's, the mask
 * that its handler with those flags would have. */
void signals_fault_action(int signo, struct sigaction *a);
void signals_fault_shown(int signo, struct sigaction *a);
void signals_fault_unmask(int signo, int flags, const void *context);
/* The same where the program has no handler: what it ignores is nothing, but what its own instruction raised kills. */
void signals_unhandled(bool ignored, int signo, siginfo_t *info, void *context);
/* Is SIGTRAP ours before it is the program's? */
static inline bool signals_want_traps(void)
{
    return process.steps || process.probes || process.values;
}
/* How our handler of SIGTRAP is installed. On the stack where the thread is: an alternate one may be tiny. Where a thread's
 * stack ends we fault in place of the program, whose handler then gets to know: blocked, the fault would kill. The program's
 * own flags and mask are not the kernel's to apply here. */
struct sigaction signals_trap_action(void (*handler)(int, siginfo_t *, void *));
/* A SIGTRAP that is none of ours goes the way of other signals, under the mask that the program had; SIGTRAP itself stays open. */
void signals_hand_on(int signo, siginfo_t *info, void *context);

/* Over fork, innermost: nobody else changes dispositions. */
void signals_before_fork(void);
void signals_after_fork(void);

/* The internal signal as far as the program is kept from it; 0 when there is none, or when it must be shared. */
extern int signals_kept_out;

/* If signo is that: the program means it itself, and we take another one. */
void signals_give_up_internal(int signo);
void signals_adopt_mask(void);

/* Did we send it, or a timer of ours, or our writer for `regtrace ctl`? */
bool signals_is_internal(int signo, const siginfo_t *info);

/* Signals that are to reach us whatever the program blocks: the internal one, and SIGTRAP where probes are. */
uint64_t signals_kept_bits(void);

/* The set to hand to the kernel: without those signals, in *copy; NULL for NULL. *named (may be NULL): those that were in
 * the set. A set that names the internal one among few means that very signal: then it is given up first. */
const sigset_t *signals_own_set(const sigset_t *set, sigset_t *copy, uint64_t *named);

void threads_prepare(void);
void processes_prepare(void);
void images_prepare(void);

#endif
