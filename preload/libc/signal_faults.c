/* SPDX-License-Identifier: BSD-3-Clause
 * SIGSEGV if memory is traced (memory.c). Our handler begins with all other signals but faults
 * blocked, so that no handler of the program runs while we work on a fault of an instrumented copy.
 * The program's own handler runs under the mask that it would have had. */
#include "preload/libc/interpose.h"

#include "base/sys.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory.h"

#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

static _Atomic uint64_t wanted_mask; /* the mask of the program's action */

static uint64_t bits_of(const sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits;
}

void signals_fault_action(int signo, struct sigaction *a)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    if (!memory_is_fault(signo))
        return;
    atomic_store(&wanted_mask, bits_of(&a->sa_mask));
    (void)sigfillset(&a->sa_mask);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        (void)sigdelset(&a->sa_mask, faults[i]);
}

void signals_fault_shown(int signo, struct sigaction *a)
{
    if (!memory_is_fault(signo))
        return;
    uint64_t bits = atomic_load(&wanted_mask);
    (void)sigemptyset(&a->sa_mask);
    memcpy(&a->sa_mask, &bits, sizeof bits);
}

void signals_fault_unmask(int signo, int flags, const void *context)
{
    const ucontext_t *uc = context;
    if (!memory_is_fault(signo))
        return;
    uint64_t mask = bits_of(&uc->uc_sigmask) | atomic_load(&wanted_mask) |
                    ((flags & (int)SA_NODEFER) == 0 ? sys_signal_bit(signo) : 0);
    (void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
}
