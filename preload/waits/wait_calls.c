/* SPDX-License-Identifier: BSD-3-Clause
 * Wrappers of libc functions that wait. When a signal interrupts some calls with a timeout, the
 * kernel forgets the remaining time, so their wrappers note when the call began. When a signal
 * interrupts nanosleep() and similar functions, the kernel writes the remaining time, although we
 * continue the call. Their wrappers hide that from the program. */
#include "preload/waits/wait_calls.h"

#include "base/clock.h"
#include "base/sys.h"
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/process.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

__thread struct wait_note wait_noted;

void waits_note_at(long number, long first, const void *stack)
{
    if (process.traced && process.internal_signal != 0)
        wait_noted = (struct wait_note){.clock = clock_monotonic_ns(),
                                        .stack = (uintptr_t)stack,
                                        .first = (int32_t)first,
                                        .number = (int32_t)number};
}

/* --- remaining time of a sleep ---------------------------------------------------------------- */

PRELOAD_EXPORT int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    struct timespec left;
    int rc = NEXT(nanosleep)(wanted, rest != NULL ? &left : NULL);
    if (rc != 0 && rest != NULL && errno == EINTR)
        *rest = left;
    return rc;
}

PRELOAD_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                                   struct timespec *rest)
{
    struct timespec left;
    bool written = rest != NULL && (flags & TIMER_ABSTIME) == 0;
    int rc = NEXT(clock_nanosleep)(clock, flags, wanted, written ? &left : rest);
    if (rc == EINTR && written)
        *rest = left;
    return rc;
}

PRELOAD_EXPORT int thrd_sleep(const struct timespec *wanted, struct timespec *rest)
{
    struct timespec left;
    int rc = NEXT(thrd_sleep)(wanted, rest != NULL ? &left : NULL);
    if (rc == -1 && rest != NULL)
        *rest = left;
    return rc;
}

/* --- relative timeouts ------------------------------------------------------------------------ */

PRELOAD_EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
    if (timeout > 0)
        waits_note(SYS_epoll_pwait, fd);
    return NEXT(epoll_wait)(fd, events, n, timeout);
}

PRELOAD_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout,
                               const sigset_t *set)
{
    sigset_t copy;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    if (timeout > 0)
        waits_note(SYS_epoll_pwait, fd);
    return NEXT(epoll_pwait)(fd, events, n, timeout, own);
}

PRELOAD_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int n,
                                const struct timespec *timeout, const sigset_t *set)
{
    sigset_t copy;
    const sigset_t *own = signals_own_set(set, &copy, NULL);
    if (timeout != NULL)
        waits_note(SYS_epoll_pwait2, fd);
    return NEXT(epoll_pwait2)(fd, events, n, timeout, own);
}

PRELOAD_EXPORT int semtimedop(int id, struct sembuf *operations, size_t n,
                              const struct timespec *timeout)
{
    if (timeout != NULL)
        waits_note(SYS_semtimedop, id);
    return NEXT(semtimedop)(id, operations, n, timeout);
}

/* --- calls on sockets, which may have a timeout ----------------------------------------------- */

PRELOAD_EXPORT int accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict size)
{
    waits_note(SYS_accept, fd);
    return NEXT(accept)(fd, address, size);
}

PRELOAD_EXPORT int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict size, int flags)
{
    waits_note(SYS_accept4, fd);
    return NEXT(accept4)(fd, address, size, flags);
}

/* Is this a TCP socket whose connection has been begun? */
static bool is_connecting(int fd)
{
    uint8_t state = 0; /* the first field of struct tcp_info */
    socklen_t bytes = sizeof state;
    return sys_call6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, (long)&state, (long)&bytes, 0) ==
               0 &&
           state == TCP_SYN_SENT;
}

PRELOAD_EXPORT int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    if (process.traced && process.internal_signal != 0)
        waits_note(SYS_connect | (is_connecting(fd) ? WAIT_CONNECTING : 0), fd);
    return NEXT(connect)(fd, address, size);
}

PRELOAD_EXPORT ssize_t recv(int fd, void *to, size_t n, int flags)
{
    if ((flags & MSG_DONTWAIT) == 0)
        waits_note(SYS_recvfrom, fd);
    return NEXT(recv)(fd, to, n, flags);
}

PRELOAD_EXPORT ssize_t recvfrom(int fd, void *restrict to, size_t n, int flags,
                                __SOCKADDR_ARG address, socklen_t *restrict size)
{
    if ((flags & MSG_DONTWAIT) == 0)
        waits_note(SYS_recvfrom, fd);
    return NEXT(recvfrom)(fd, to, n, flags, address, size);
}

PRELOAD_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    if ((flags & MSG_DONTWAIT) == 0)
        waits_note(SYS_recvmsg, fd);
    return NEXT(recvmsg)(fd, message, flags);
}

PRELOAD_EXPORT ssize_t send(int fd, const void *from, size_t n, int flags)
{
    if ((flags & MSG_DONTWAIT) == 0)
        waits_note(SYS_sendto, fd);
    return NEXT(send)(fd, from, n, flags);
}

PRELOAD_EXPORT ssize_t sendto(int fd, const void *from, size_t n, int flags,
                              __CONST_SOCKADDR_ARG address, socklen_t size)
{
    if ((flags & MSG_DONTWAIT) == 0)
        waits_note(SYS_sendto, fd);
    return NEXT(sendto)(fd, from, n, flags, address, size);
}

PRELOAD_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if ((flags & MSG_DONTWAIT) == 0)
        waits_note(SYS_sendmsg, fd);
    return NEXT(sendmsg)(fd, message, flags);
}

/* --- syscall() -------------------------------------------------------------------------------- */

#if defined(__x86_64__)

typedef long system_call(long number, ...);
system_call *waits_syscall_comes(long number, long first, const void *stack)
    __attribute__((visibility("hidden")));

static void note_raw(long number, long first, const void *stack)
{
    wait_noted = (struct wait_note){.clock = waits_is_timed(number) ? clock_monotonic_ns() : 0,
                                    .stack = (uintptr_t)stack,
                                    .first = (int32_t)first,
                                    .number = (int32_t)number};
}

/* Makes a system call with its number as a constant in the code, where number_in_code() of
 * interrupted_call.c finds it. */
#define CALL(number, a, b, c, d)                                                                   \
    ({                                                                                             \
        long result;                                                                               \
        register long r10 __asm__("r10") = d;                                                      \
        __asm__ volatile("movl %[n], %%eax\n\tsyscall"                                             \
                         : "=&a"(result)                                                           \
                         : [n] "i"(number), "D"(a), "S"(b), "d"(c), "r"(r10)                       \
                         : "rcx", "r11", "memory");                                                \
        result;                                                                                    \
    })

/* Returns what syscall() returns for a result of the kernel, and sets errno. */
static long returned(long rc)
{
    if (rc >= 0)
        return rc;
    errno = (int)-rc;
    return -1;
}

/* syscall() for nanosleep and clock_nanosleep. As in libc's syscall(), they are no cancellation
 * points. */
static long sleep_raw(long number, ...)
{
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long),
         d = va_arg(list, long), rc;
    va_end(list);
    bool plain = number == SYS_nanosleep, written = plain || (b & TIMER_ABSTIME) == 0;
    struct timespec left = {0}, *rest = (struct timespec *)(plain ? b : d); /* NOLINT: pointer */
    long to = rest != NULL && written ? (long)&left : (long)rest;
    if (plain)
        rc = CALL(SYS_nanosleep, a, to, c, d);
    else
        rc = CALL(SYS_clock_nanosleep, a, b, c, to);
    if (rc == -EINTR && to == (long)&left)
        *rest = left;
    return returned(rc);
}

/* syscall() for rt_sigtimedwait: does not wait for our signal. */
static long sigtimedwait_raw(long number, ...)
{
    va_list list;
    va_start(list, number);
    const sigset_t *set = va_arg(list, const sigset_t *);
    long info = va_arg(list, long), timeout = va_arg(list, long), bytes = va_arg(list, long);
    va_end(list);
    sigset_t copy; /* the kernel reads its first 8 bytes */
    uint64_t bits;
    if (bytes == sizeof bits && sys_read_self((uintptr_t)set, &bits, sizeof bits) == sizeof bits) {
        sigset_t whole;
        (void)sigemptyset(&whole);
        memcpy(&whole, &bits, sizeof bits);
        set = signals_own_set(&whole, &copy, NULL);
    }
    if (timeout != 0)
        waits_note(SYS_rt_sigtimedwait, (long)set);
    long rc = CALL(SYS_rt_sigtimedwait, set, info, timeout, bytes);
    return returned(rc);
}

/* Returns the function to which our syscall() jumps with its arguments unchanged: one of those
 * above, otherwise libc's syscall(). */
system_call *waits_syscall_comes(long number, long first, const void *stack)
{
    if (process.traced && process.internal_signal != 0 && processes_vfork_depth == 0) {
        if (number == SYS_nanosleep || number == SYS_clock_nanosleep)
            return sleep_raw;
        if (number == SYS_rt_sigtimedwait)
            return sigtimedwait_raw;
        note_raw(number, first, stack);
    }
    return NEXT(syscall);
}

#endif
