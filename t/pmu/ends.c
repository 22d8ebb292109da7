/* SPDX-License-Identifier: BSD-3-Clause
 * Ends, waits and stacks that must be the same when the program is stepped. The argument's first
 * letter selects a part. */
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t outside, inside;
static char stack[65536];

static void on_alarm(int signo)
{
    (void)signo;
}

static void on_fault(int signo)
{
    (void)signo;
    _exit(5);
}

static int deeper(int n)
{
    volatile char much[4096];
    much[0] = (char)n;
    return n == 1 << 30 ? 0 : deeper(n + 1) + much[0];
}

static void *sleeper(void *argument)
{
    for (;;)
        (void)pause();
    return argument;
}

static void *leaver(void *argument)
{
    pthread_exit(argument);
}

static void coroutine(void)
{
    (void)swapcontext(&inside, &outside);
}

static int status_of(pid_t child)
{
    int status = 0;
    return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 99;
}

static int overflow_stack(void)
{
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction a = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    (void)sigaltstack(&other, NULL);
    (void)sigaction(SIGSEGV, &a, NULL);
    return deeper(1);
}

static int cancel(void)
{
    pthread_t t;
    void *result = NULL;
    (void)pthread_create(&t, NULL, sleeper, NULL);
    (void)pthread_cancel(t);
    (void)pthread_join(t, &result);
    return result == PTHREAD_CANCELED ? 0 : 1;
}

static int leave(void)
{
    pthread_t t;
    void *result = NULL;
    (void)pthread_create(&t, NULL, leaver, (void *)(intptr_t)3);
    (void)pthread_join(t, &result);
    return (int)(intptr_t)result;
}

static int waits(void)
{
    struct sigaction a = {.sa_handler = on_alarm};
    sigset_t none, all;
    (void)sigaction(SIGALRM, &a, NULL);
    (void)alarm(1);
    int r = poll(NULL, 0, -1);
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)alarm(1);
    (void)sigsuspend(&none);
    return r == -1 ? 0 : 1;
}

static int contexts(void)
{
    for (int i = 0; i < 3; i++) {
        (void)getcontext(&inside);
        inside.uc_stack.ss_sp = stack;
        inside.uc_stack.ss_size = sizeof stack;
        inside.uc_link = &outside;
        makecontext(&inside, coroutine, 0);
        (void)swapcontext(&outside, &inside);
    }
    return 0;
}

static int borrow(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(4);
    return status_of(child);
}

static int raw_fork(void)
{
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0)
        _exit(6);
    return status_of(child);
}

static int old_call(void)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    return result == getpid() ? 0 : 1;
}

int main(int argc, char **argv)
{
    char *const echo[] = {"echo", "replaced", NULL};
    switch (argc > 1 ? argv[1][0] : 0) {
    case 'a': abort();
    case 'b': __asm__ volatile("int3"); return 0;
    case 'c': return cancel();
    case 'e': return execv("/bin/echo", echo);
    case 'f': return raw_fork();
    case 'i': return old_call();
    case 'k': return kill(getpid(), SIGTRAP);
    case 'l': return leave();
    case 'n': *(volatile int *)(uintptr_t)(argc - 2) = 1; return 0;
    case 's': return overflow_stack();
    case 'u': return contexts();
    case 'v': return borrow();
    case 'w': return waits();
    default: return 98;
    }
}
