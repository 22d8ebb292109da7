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
    uint64_t ours = signals_kept_bits(), mask = sys_block_signals();
    signals_hidden = mask & ours; /* before one that waits can come */
    sys_restore_signals(mask & ~ours);
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
    int internal = signals_reserved;
    return (internal != 0 ? sys_signal_bit(internal) : 0) |
           (code_is_patched ? sys_signal_bit(SIGTRAP) : 0) |
           (memory_is_traced ? sys_signal_bit(SIGSEGV) : 0);
}

const sigset_t *signals_own_set(const sigset_t *set, sigset_t *copy, uint64_t *named)
{
    uint64_t bits, found;
    int internal = signals_reserved;
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

/* What came with withheld signals of all threads; tid 0: a free row. Without a free row, a signal
 * is sent again as by tgkill(). */
static struct {
    _Atomic pid_t tid;
    siginfo_t info;
} came_with[16];
enum { CAME_WITH = sizeof came_with / sizeof *came_with };

void signals_withhold(int signo, const siginfo_t *info)
{
    if ((withheld & sys_signal_bit(signo)) != 0)
        return; /* as the kernel, which keeps one of these signals */
    uint64_t mask = sys_block_signals();
    pid_t none = 0, tid = sys_gettid();
    withheld |= (uint32_t)sys_signal_bit(signo);
    for (int i = 0; i < CAME_WITH; i++, none = 0)
        if (atomic_compare_exchange_strong(&came_with[i].tid, &none, tid)) {
            came_with[i].info = *info;
            break;
        }
    sys_restore_signals(mask);
}

/* Takes a withheld signal of this thread, as the kernel takes a pending one. */
static void take(int signo, siginfo_t *info)
{
    uint64_t mask = sys_block_signals();
    pid_t tid = sys_gettid();
    memset(info, 0, sizeof *info);
    info->si_signo = signo;
    info->si_code = SI_TKILL;
    info->si_pid = sys_getpid();
    info->si_uid = process.id.uid;
    withheld &= ~(uint32_t)sys_signal_bit(signo);
    for (int i = 0; i < CAME_WITH; i++)
        if (atomic_load(&came_with[i].tid) == tid && came_with[i].info.si_signo == signo) {
            *info = came_with[i].info;
            atomic_store(&came_with[i].tid, 0);
        }
    sys_restore_signals(mask);
}

void signals_forget_withheld(void)
{
    withheld = 0;
    for (int i = 0; i < CAME_WITH; i++)
        atomic_store(&came_with[i].tid, 0);
}

/* Sends these signals, so that they wait in the kernel or come. */
static void send(uint32_t sent)
{
    siginfo_t info;
    for (; sent != 0; sent &= sent - 1) {
        int signo = __builtin_ctz(sent) + 1;
        take(signo, &info);
        if (sys_call6(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), signo, (long)&info, 0,
                      0) != 0)
            (void)sys_call6(SYS_tgkill, sys_getpid(), sys_gettid(), signo, 0, 0, 0);
    }
}

void signals_send_withheld(void)
{
    send(withheld);
}

void signals_unblocked(void)
{
    send(withheld & ~(uint32_t)signals_hidden);
}

void signals_hide(uint64_t hidden)
{
    uint64_t before = signals_hidden;
    signals_hidden = hidden;
    if (RT_UNLIKELY((before & ~hidden) != 0))
        signals_unblocked();
}

uint64_t signals_shown_mask(uint64_t mask, uint64_t hidden)
{
    uint64_t kept = signals_kept_bits();
    return (mask & ~kept) | (hidden & kept);
}

/* In a handler of the program that has interrupted one of ours, the kernel's mask has our signals,
 * which are not the program's. */
static void show_mask(sigset_t *old, uint64_t hidden)
{
    uint64_t bits;
    if (old == NULL)
        return;
    memcpy(&bits, old, sizeof bits);
    bits = signals_shown_mask(bits, hidden);
    memcpy(old, &bits, sizeof bits);
}

typedef int mask_function(int how, const sigset_t *set, sigset_t *old);

/* The hidden signals change at once with the kernel's mask: a handler that comes in between would
 * see one of two masks that the program has never set. */
RT_COLD static int set_both(int how, const sigset_t *own, sigset_t *old, uint64_t hidden)
{
    enum { OF_LIBC = 32 }; /* 32 and 33, which no program can block */
    uint64_t bits, before = signals_hidden, mask = sys_block_signals();
    memcpy(&bits, own, sizeof bits);
    bits &= ~(sys_signal_bit(OF_LIBC) | sys_signal_bit(OF_LIBC + 1));
    signals_hide(hidden);
    if (old != NULL) {
        (void)sigemptyset(old);
        memcpy(old, &mask, sizeof mask);
        show_mask(old, before);
    }
    sys_restore_signals(how == SIG_SETMASK ? bits : how == SIG_BLOCK ? mask | bits : mask & ~bits);
    return 0;
}

static int set_mask(mask_function *next, int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    uint64_t before = signals_hidden, after = before, named;
    const sigset_t *own = signals_own_set(set, &copy, &named);
    if (set != NULL && how == SIG_SETMASK)
        after = named;
    else if (set != NULL && how == SIG_BLOCK)
        after |= named;
    else if (set != NULL && how == SIG_UNBLOCK)
        after &= ~named;
    if (after != before)
        return set_both(how, own, old, after);
    int rc = next(how, own, old);
    if (rc == 0)
        show_mask(old, before);
    return rc;
}

PRELOAD_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return set_mask(NEXT(pthread_sigmask), how, set, old);
}

PRELOAD_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return set_mask(NEXT(sigprocmask), how, set, old);
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

/* Takes a withheld signal of the set. Returns 0 if there is none. */
static int take_withheld(const sigset_t *set, siginfo_t *info)
{
    uint64_t bits = 0;
    if (RT_LIKELY(withheld == 0) ||
        sys_read_self((uintptr_t)set, &bits, sizeof bits) != sizeof bits)
        return 0;
    bits &= withheld;
    if (bits == 0)
        return 0;
    take(__builtin_ctzll(bits) + 1, info);
    return info->si_signo;
}

PRELOAD_EXPORT int sigwait(const sigset_t *restrict set, int *restrict signo)
{
    sigset_t copy;
    siginfo_t info;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    /* libc's sigwait() continues after EINTR, and does not say who sent the signal. */
    for (;;) {
        int keep = errno, got = take_withheld(set, &info);
        if (got == 0)
            got = NEXT(sigwaitinfo)(own, &info);
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
        int rc = take_withheld(set, &came);
        if (rc == 0)
            rc = NEXT(sigwaitinfo)(own, &came);
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
        int rc = take_withheld(set, &came);
        if (rc == 0) {
            waits_note(SYS_rt_sigtimedwait, (long)own);
            rc = NEXT(sigtimedwait)(own, &came, &left);
        }
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
