/* SPDX-License-Identifier: BSD-3-Clause
 * Has a handler of SIGTRAP that calls functions, sees its own mask and leaves by siglongjmp now and
 * then, and a handler of SIGUSR1. Prints what happened. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static volatile long sum;
static volatile int traps, blocked, others;
static sigjmp_buf back;

__attribute__((noinline)) static void leaf(long n)
{
    for (long i = 0; i < n; i++)
        sum += i * i;
}

static int trap_is_blocked(void)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, SIGTRAP);
}

static void on_trap(int signo)
{
    (void)signo;
    leaf(3);
    blocked += trap_is_blocked();
    if (++traps % 2 == 0)
        siglongjmp(back, 1);
}

static void on_user(int signo)
{
    (void)signo;
    others++;
    leaf(10);
}

__attribute__((noinline)) static void own_trap(void)
{
    leaf(5);
    __asm__ volatile("int3");
}

int main(void)
{
    signal(SIGTRAP, on_trap);
    signal(SIGUSR1, on_user);
    for (volatile int i = 0; i < 6; i++) {
        raise(SIGUSR1);
        if (sigsetjmp(back, 1) == 0)
            own_trap();
        raise(SIGUSR1);
        if (sigsetjmp(back, 1) == 0)
            raise(SIGTRAP);
    }
    printf("%d traps, blocked in %d, %d others, sum %ld, blocked now: %d\n", traps, blocked, others,
           sum, trap_is_blocked());
    return 0;
}
