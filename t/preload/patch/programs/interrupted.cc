/* SPDX-License-Identifier: BSD-3-Clause
 * interrupted TIMES JUMPS: 8 threads enter and leave functions TIMES times each, while a timer of
 * 100 us interrupts them wherever they are. Its handler enters and leaves functions too and, if
 * JUMPS is not 0, sometimes leaves by siglongjmp. Prints how often the handler has run. */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLAIN extern "C" __attribute__((noinline))
enum { THREADS = 8, TIMER = 100000 /* ns */ };

static volatile int sink;
static int times, jumps;
static long handled;
static thread_local long mine, since;
static thread_local sigjmp_buf target;
static thread_local volatile bool may_jump;

PLAIN void r_leaf(int n)
{
    sink = sink + n;
    asm volatile("");
}
PLAIN void r_twice(int n)
{
    r_leaf(n);
    r_leaf(n + 1);
    asm volatile("");
}
PLAIN void r_recursive(int n)
{
    if (n != 0)
        r_recursive(n - 1);
    sink = sink + 1;
    asm volatile("");
}
PLAIN void r_handled(int n)
{
    r_leaf(n);
    asm volatile("");
}

static void on_timer(int)
{
    mine++;
    r_handled(1);
    r_recursive(2);
    r_twice(1);
    if (jumps != 0 && may_jump && ++since % 8 == 0) {
        may_jump = false;
        siglongjmp(target, 1);
    }
}

static void *work(void *)
{
    timer_t timer;
    sigset_t set;
    struct sigevent event = {};
    struct itimerspec every = {{0, TIMER}, {0, TIMER}};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN + 2;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &every, nullptr);
    for (volatile int i = 0; i < times; i = i + 1) {
        if (jumps != 0 && sigsetjmp(target, 1) == 0)
            may_jump = true;
        r_recursive(3);
        r_twice(i);
        r_handled(2);
    }
    may_jump = false;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 2);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    timer_delete(timer);
    __atomic_add_fetch(&handled, mine, __ATOMIC_RELAXED);
    return nullptr;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct sigaction action = {};
    if (argc != 3)
        return 2;
    times = atoi(argv[1]);
    jumps = atoi(argv[2]);
    action.sa_handler = on_timer;
    sigaction(SIGRTMIN + 2, &action, nullptr);
    for (pthread_t &t : threads)
        pthread_create(&t, nullptr, work, nullptr);
    for (pthread_t t : threads)
        pthread_join(t, nullptr);
    printf("%ld\n", handled);
    return 0;
}
