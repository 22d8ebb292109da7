/* SPDX-License-Identifier: BSD-3-Clause
 * The older functions that set a handler, in terms of sigaction(), as the C library defines them.
 * libc's own versions would not call our sigaction(). */
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/process.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

int signals_real_sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    return NEXT(sigaction)(signo, act, old);
}

static _Atomic uint64_t interrupting; /* siginterrupt(n, 1) was called: signal() omits SA_RESTART */

static bool in_range(int signo)
{
    return signo >= 1 && signo <= 64;
}

static __sighandler_t set_handler(int signo, __sighandler_t handler, int flags, bool mask_itself)
{
    struct sigaction a, old;
    if (handler == SIG_ERR || !in_range(signo)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = flags;
    if (mask_itself)
        (void)sigaddset(&a.sa_mask, signo);
    return sigaction(signo, &a, &old) != 0 ? SIG_ERR : old.sa_handler;
}

static __sighandler_t set_bsd(int signo, __sighandler_t handler)
{
    bool restart = !in_range(signo) || (atomic_load(&interrupting) >> (signo - 1) & 1) == 0;
    return set_handler(signo, handler, restart ? SA_RESTART : 0, true);
}

PRELOAD_EXPORT __sighandler_t signal(int signo, __sighandler_t handler)
{
    return set_bsd(signo, handler);
}

__sighandler_t bsd_signal(int signo, __sighandler_t handler);
PRELOAD_EXPORT __sighandler_t bsd_signal(int signo, __sighandler_t handler)
{
    return set_bsd(signo, handler);
}

PRELOAD_EXPORT __sighandler_t ssignal(int signo, __sighandler_t handler)
{
    return set_bsd(signo, handler);
}

PRELOAD_EXPORT __sighandler_t sysv_signal(int signo, __sighandler_t handler)
{
    return set_handler(signo, handler, (int)(SA_RESETHAND | SA_NODEFER), false);
}

__sighandler_t __sysv_signal(int signo, __sighandler_t handler);
PRELOAD_EXPORT __sighandler_t __sysv_signal(int signo, __sighandler_t handler)
{
    return set_handler(signo, handler, (int)(SA_RESETHAND | SA_NODEFER), false);
}

PRELOAD_EXPORT int siginterrupt(int signo, int interrupt)
{
    struct sigaction a;
    if (sigaction(signo, NULL, &a) != 0)
        return -1;
    uint64_t bit = sys_signal_bit(signo);
    if (interrupt) {
        atomic_fetch_or(&interrupting, bit);
        a.sa_flags &= ~SA_RESTART;
    } else {
        atomic_fetch_and(&interrupting, ~bit);
        a.sa_flags |= SA_RESTART;
    }
    return sigaction(signo, &a, NULL);
}

PRELOAD_EXPORT int sigignore(int signo)
{
    return set_handler(signo, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

static int mask_one(int how, int signo, sigset_t *old)
{
    sigset_t set;
    (void)sigemptyset(&set);
    if (sigaddset(&set, signo) != 0)
        return -1;
    return sigprocmask(how, &set, old);
}

PRELOAD_EXPORT int sighold(int signo)
{
    return mask_one(SIG_BLOCK, signo, NULL);
}

PRELOAD_EXPORT int sigrelse(int signo)
{
    return mask_one(SIG_UNBLOCK, signo, NULL);
}

/* BSD's masks have 32 bits, bit n - 1 for signal n. */
static int change_bits(int how, int bits)
{
    uint64_t mask = (uint32_t)bits;
    sigset_t set, old;
    (void)sigemptyset(&set);
    memcpy(&set, &mask, sizeof mask);
    if (sigprocmask(how, &set, &old) != 0)
        return -1;
    memcpy(&mask, &old, sizeof mask);
    return (int)(uint32_t)mask;
}

PRELOAD_EXPORT int sigblock(int mask)
{
    return change_bits(SIG_BLOCK, mask);
}

PRELOAD_EXPORT int sigsetmask(int mask)
{
    return change_bits(SIG_SETMASK, mask);
}

PRELOAD_EXPORT int siggetmask(void)
{
    return change_bits(SIG_BLOCK, 0);
}

/* X/Open: SIG_HOLD blocks the signal and leaves its action. Everything else sets the action and
 * unblocks the signal. */
PRELOAD_EXPORT __sighandler_t sigset(int signo, __sighandler_t handler)
{
    struct sigaction before;
    sigset_t mask;
    if (handler == SIG_ERR || !in_range(signo)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (handler == SIG_HOLD) {
        if (mask_one(SIG_BLOCK, signo, &mask) != 0)
            return SIG_ERR;
        if (sigismember(&mask, signo) == 1)
            return SIG_HOLD;
        return sigaction(signo, NULL, &before) != 0 ? SIG_ERR : before.sa_handler;
    }
    __sighandler_t old = set_handler(signo, handler, 0, false);
    if (old == SIG_ERR || mask_one(SIG_UNBLOCK, signo, &mask) != 0)
        return SIG_ERR;
    return sigismember(&mask, signo) == 1 ? SIG_HOLD : old;
}
