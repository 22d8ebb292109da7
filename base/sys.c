/* SPDX-License-Identifier: BSD-3-Clause
 * Raw system calls, which set no errno and are no cancellation points. */
#include "base/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "regtrace runs on x86-64 and aarch64"
#endif
}

uint64_t sys_block_signals(void)
{
    uint64_t all = ~UINT64_C(0), old = 0;
    (void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof all, 0, 0);
    return old;
}

void sys_restore_signals(uint64_t mask)
{
    (void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
}

void sys_nap(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    (void)sys_call6(SYS_ppoll, 0, 0, (long)&t, 0, 0, 0);
}

long sys_read_self(uintptr_t address, void *to, size_t n)
{
    struct iovec here = {.iov_base = to, .iov_len = n};
    struct iovec there = {.iov_base = (void *)address, .iov_len = n}; /* NOLINT: any address */
    return sys_call6(SYS_process_vm_readv, sys_getpid(), (long)&here, 1, (long)&there, 1, 0);
}

long sys_write_self(uintptr_t address, const void *from, size_t n)
{
    struct iovec here = {.iov_base = (void *)from,
                         .iov_len = n}; /* NOLINT: the call only reads it */
    struct iovec there = {.iov_base = (void *)address, .iov_len = n};
    return sys_call6(SYS_process_vm_writev, sys_getpid(), (long)&here, 1, (long)&there, 1, 0);
}

struct sys_cancel sys_cancel_off(void)
{
    struct sys_cancel was;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was.state);
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &was.type);
    return was;
}

void sys_cancel_on(struct sys_cancel was)
{
    (void)pthread_setcancelstate(was.state, NULL);
    (void)pthread_setcanceltype(was.type, NULL);
}

#define FILE_SIZE_SIGNAL sys_signal_bit(SIGXFSZ)

static int file_size_pending(void)
{
    uint64_t pending = 0;
    (void)sys_call6(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    return (pending & FILE_SIZE_SIGNAL) != 0;
}

struct sys_file_guard sys_file_guard_begin(void)
{
    struct sys_file_guard g = {0};
    uint64_t set = FILE_SIZE_SIGNAL;
    (void)sys_call6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&g.mask, sizeof set, 0, 0);
    g.pending = file_size_pending();
    return g;
}

void sys_file_guard_end(const struct sys_file_guard *g)
{
    uint64_t set = FILE_SIZE_SIGNAL;
    struct timespec now = {0};
    if (!g->pending && file_size_pending())
        (void)sys_call6(SYS_rt_sigtimedwait, (long)&set, 0, (long)&now, sizeof set, 0, 0);
    sys_restore_signals(g->mask);
}

pid_t sys_gettid(void)
{
    return (pid_t)sys_call6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

pid_t sys_getpid(void)
{
    return (pid_t)sys_call6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

void sys_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    (void)sys_call6(SYS_futex, (long)word, FUTEX_WAIT, (long)expected, (long)&ts, 0, 0);
}

void sys_futex_wake(_Atomic uint32_t *word, int how_many)
{
    (void)sys_call6(SYS_futex, (long)word, FUTEX_WAKE, how_many, 0, 0, 0);
}

/* The kernel's layout. */
struct kernel_sigevent {
    union sigval value;
    int signo;
    int notify;
    int tid;
    int pad[11];
};

int sys_thread_timer(int clock, int signo, int code, uint32_t kernel_tid, int *id)
{
    struct kernel_sigevent event = {.value.sival_int = code,
                                    .signo = signo,
                                    .notify = 4, /* SIGEV_THREAD_ID */
                                    .tid = (int)kernel_tid};
    return (int)sys_call6(SYS_timer_create, clock, (long)&event, (long)id, 0, 0, 0);
}

void sys_relax(void)
{
    static _Atomic unsigned spins; /* of all threads together; each 64th call yields */
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (atomic_fetch_add_explicit(&spins, 1, memory_order_relaxed) % 64 == 63)
        (void)sys_call6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

int sys_write_all(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n > 0) {
        long w = sys_call6(SYS_write, fd, (long)at, (long)n, 0, 0, 0);
        if (w == -EINTR)
            continue;
        if (w < 0)
            return (int)w;
        at += w;
        n -= (size_t)w;
    }
    return 0;
}
