/* SPDX-License-Identifier: BSD-3-Clause
 * The actions of SIGTRAP if it is ours: the parts of the library look at a trap first, then the
 * program gets it. Also says where a signal has interrupted the program. */
#include "preload/libc/interpose.h"

#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory_copies.h"
#include "preload/patch/probes.h"
#include "preload/values/values.h"
#include "preload/window/parts.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

uintptr_t signals_ip_of(const void *context)
{
    const ucontext_t *uc = context;
#if defined(__x86_64__)
    return memory_copy_stands_for((uintptr_t)uc->uc_mcontext.gregs[REG_RIP]);
#else
    return (uintptr_t)uc->uc_mcontext.pc;
#endif
}

void signals_trapped(int signo, siginfo_t *info, void *context)
{
    int keep = errno;
    struct sys_cancel cancel = sys_cancel_off();
    bool ours = parts_trapped(signo, info, context);
    signals_cancel_on(cancel, context);
    if (!ours)
        probes_hand_on(signo, info, context);
    errno = keep;
}

struct sigaction signals_trap_action(void)
{
    struct sigaction a;
    uint64_t mask = ~sys_signal_bit(SIGSEGV); /* sigfillset() would leave out libc's own signals */
    memset(&a, 0, sizeof a);
    a.sa_sigaction = signals_trapped;
    a.sa_flags = SA_SIGINFO | SA_RESTART;
    memcpy(&a.sa_mask, &mask, sizeof mask);
    values_block_others(&a.sa_mask);
    return a;
}

/* Code that the handler calls may have probes, and so may our code that calls it: an int3 while
 * SIGTRAP is blocked would kill. So SIGTRAP is only shown as blocked then. */
void signals_hand_on(int signo, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    uint64_t mask, kept = signals_kept_bits();
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    mask &= ~(kept & sys_signal_bit(SIGTRAP));
    uint64_t all = sys_block_signals();
    sys_restore_signals(mask | (signals_handler_mask(signo) & ~kept));
    signals_handler(signo, info, context);
    sys_restore_signals(all);
}
