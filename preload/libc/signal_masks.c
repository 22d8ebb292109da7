/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the internal signal out of the masks that the program sets and out of the sets that it
 * waits for. When the program asks for its mask, shows the signal as blocked if the program has
 * blocked it. */
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/waits/wait_calls.h"
#include "preload/window/interrupts.h"

#include "base/sys.h"

#include <errno.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set,
                size_t room);

bool signals_is_nearly_full(const sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return __builtin_popcountll(bits) >= 40 || __builtin_popcountll(bits >> 33) >= 24;
}

/* The process that started us may have blocked our signals. Unblocks them, and shows them to the
 * program as blocked. */
void signals_adopt_mask(void)
{
    uint64_t ours = signals_kept_bits(), old = 0;
    (void)sys_call6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&ours, (long)&old, sizeof ours, 0, 0);
    signals_hidden = old & ours;
}

/* Is this signal ours? If the internal signal is shared, the program may block it and wait for it.
 * Does then what our handler would have done. */
static bool took_ours(int signo, siginfo_t *info)
{
    if (signo <= 0 || processes_vfork_depth != 0 || !signals_is_internal(signo, info))
        return false;
    int keep = errno;
    uint64_t mask = sys_block_signals();
    process_interrupted(info, NULL);
    sys_restore_signals(mask);
    errno = keep;
    return true;
}

uint64_t signals_kept_bits(void)
{
    int internal = signals_kept_out;
    return (internal != 0 ? sys_signal_bit(internal) : 0) |
           (code_is_patched ? sys_signal_bit(SIGTRAP) : 0) |
           (memory_is_traced ? sys_signal_bit(SIGSEGV) : 0);
}

const sigset_t *signals_own_set(const sigset_t *set, sigset_t *copy, uint64_t *named)
{
    uint64_t bits, found;
    int internal = signals_kept_out;
    if (named != NULL)
        *named = 0;
    if (set == NULL)
        return NULL;
    *copy = *set;
    memcpy(&bits, set, sizeof bits);
    found = bits & signals_kept_bits();
    if (found == 0)
        return copy;
    if (internal != 0 && (found >> (internal - 1) & 1) != 0 && processes_vfork_depth == 0 &&
        !signals_is_nearly_full(set)) {
        signals_give_up_internal(internal);
        found &= ~sys_signal_bit(internal);
    }
    bits &= ~found;
    memcpy(copy, &bits, sizeof bits);
    if (named != NULL)
        *named = found;
    return copy;
}

static __thread uint32_t withheld; /* bit n - 1: signal n waits; few bits, for TLS is scarce */

void signals_withhold(int signo)
{
    withheld |= (uint32_t)sys_signal_bit(signo);
}

void signals_unblocked(void)
{
    uint32_t sent = withheld & ~(uint32_t)signals_hidden;
    withheld &= ~sent;
    for (int n = 1; sent != 0; n++, sent >>= 1)
        if ((sent & 1) != 0)
            (void)sys_call6(SYS_tgkill, sys_getpid(), sys_gettid(), n, 0, 0, 0);
}

void signals_hide(uint64_t hidden)
{
    uint64_t before = signals_hidden;
    signals_hidden = hidden;
    if (RT_UNLIKELY((before & ~hidden) != 0))
        signals_unblocked();
}

static void note_mask(int how, uint64_t named)
{
    signals_hide(how == SIG_SETMASK ? named
                 : how == SIG_BLOCK ? signals_hidden | named
                                    : signals_hidden & ~named);
}

static void show_mask(sigset_t *old, uint64_t hidden)
{
    uint64_t bits;
    if (old == NULL || hidden == 0)
        return;
    memcpy(&bits, old, sizeof bits);
    bits |= hidden & signals_kept_bits();
    memcpy(old, &bits, sizeof bits);
}

PRELOAD_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    uint64_t before = signals_hidden, named;
    const sigset_t *own = signals_own_set(set, &copy, &named);
    int rc = NEXT(pthread_sigmask)(how, own, old);
    if (rc == 0) {
        show_mask(old, before);
        if (set != NULL)
            note_mask(how, named);
    }
    return rc;
}

PRELOAD_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    uint64_t before = signals_hidden, named;
    const sigset_t *own = signals_own_set(set, &copy, &named);
    int rc = NEXT(sigprocmask)(how, own, old);
    if (rc == 0) {
        show_mask(old, before);
        if (set != NULL)
            note_mask(how, named);
    }
    return rc;
}

PRELOAD_EXPORT int sigpending(sigset_t *set)
{
    int rc = NEXT(sigpending)(set);
    if (rc == 0)
        show_mask(set, withheld);
    return rc;
}

PRELOAD_EXPORT int sigsuspend(const sigset_t *set)
{
    sigset_t copy;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    return NEXT(sigsuspend)(own);
}

PRELOAD_EXPORT int sigwait(const sigset_t *restrict set, int *restrict signo)
{
    sigset_t copy;
    siginfo_t info;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    /* libc's sigwait() continues after EINTR, and does not say who sent the signal. */
    for (;;) {
        int keep = errno, got = NEXT(sigwaitinfo)(own, &info);
        int rc = got >= 0 ? 0 : errno;
        errno = keep;
        if (rc == EINTR || took_ours(got, &info))
            continue;
        if (rc == 0)
            *signo = got;
        return rc;
    }
}

PRELOAD_EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    sigset_t copy;
    siginfo_t came;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    for (;;) {
        int rc = NEXT(sigwaitinfo)(own, &came);
        if (took_ours(rc, &came))
            continue;
        if (rc >= 0 && info != NULL)
            *info = came;
        return rc;
    }
}

static struct timespec time_left(const struct timespec *end)
{
    struct timespec now, left = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = (end->tv_sec - now.tv_sec) * INT64_C(1000000000) + end->tv_nsec - now.tv_nsec;
    if (ns > 0)
        left = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return left;
}

PRELOAD_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                                const struct timespec *restrict timeout)
{
    sigset_t copy;
    siginfo_t came;
    struct timespec end, left;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    if (timeout == NULL)
        return sigwaitinfo(set, info);
    if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000)
        return NEXT(sigtimedwait)(own, info, timeout);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    if (__builtin_add_overflow(end.tv_sec, timeout->tv_sec, &end.tv_sec))
        end.tv_sec = INT64_MAX - 1;
    end.tv_nsec += timeout->tv_nsec;
    left = *timeout;
    for (;;) {
        waits_note(SYS_rt_sigtimedwait, (long)own);
        int rc = NEXT(sigtimedwait)(own, &came, &left);
        if (!took_ours(rc, &came)) {
            if (rc >= 0 && info != NULL)
                *info = came;
            return rc;
        }
        left = time_left(&end);
    }
}

PRELOAD_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    return NEXT(signalfd)(fd, own, flags);
}

PRELOAD_EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                         const sigset_t *set)
{
    sigset_t copy;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    return NEXT(ppoll)(fds, n, timeout, own);
}

PRELOAD_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                               const sigset_t *set, size_t room)
{
    sigset_t copy;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    return NEXT(__ppoll_chk)(fds, n, timeout, own, room);
}

PRELOAD_EXPORT int pselect(int n, fd_set *restrict in, fd_set *restrict out,
                           fd_set *restrict except, const struct timespec *restrict timeout,
                           const sigset_t *restrict set)
{
    sigset_t copy;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    return NEXT(pselect)(n, in, out, except, timeout, own);
}
