/* SPDX-License-Identifier: BSD-3-Clause
 * The automaton's spinlock, and blocking of signals: raw system calls, nothing of libc's
 * threads. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "controller/automaton/state.h"

/* The kernel's rt_sigprocmask (its set has 64 bits), because libc's function would leave libc's
 * internal signals out of the mask. */
#define HOW_BLOCK 0
#define HOW_SET 2

static long raw_syscall(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
#else
    int saved = errno;
    long result = syscall(number, a, b, c, d);
    errno = saved;
    return result;
#endif
}

uint64_t signals_block(void)
{
    uint64_t all = UINT64_MAX, old = 0;
    raw_syscall(SYS_rt_sigprocmask, HOW_BLOCK, (long)&all, (long)&old, sizeof old);
    return old;
}

void signals_restore(uint64_t mask)
{
    raw_syscall(SYS_rt_sigprocmask, HOW_SET, (long)&mask, 0, sizeof mask);
}

void lock_take(uint32_t *lock)
{
    for (unsigned tries = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0; tries++) {
        while (__atomic_load_n(lock, __ATOMIC_RELAXED) != 0) {
            /* The lock's holder may be waiting for this very processor. */
            if (++tries % 64 == 0)
                raw_syscall(SYS_sched_yield, 0, 0, 0, 0);
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }
}

void lock_drop(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
