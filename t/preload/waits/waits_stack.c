/* SPDX-License-Identifier: BSD-3-Clause
 * Waits in threads with an alternate signal stack. No wait fails because of the tracer. A handler
 * of the program on that stack ends waits with EINTR, and may leave them by siglongjmp;
 * pthread_cancel ends threads that wait. Prints how often each went wrong, and how many threads
 * were cancelled. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 16384, TIMES = 20 };

static volatile int handled;
static volatile bool jumps;
static sigjmp_buf back;
static struct epoll_event event;

static void on_alarm(int signo)
{
    volatile char room[1024];
    memset((char *)room, signo,
           /* Overwrites what a handler of the tracer left on this stack. */
           sizeof room);
    handled++;
    if (jumps)
        siglongjmp(back, 1);
}

static void take_stack(void)
{
    stack_t s = {.ss_sp = malloc(STACK), .ss_size = STACK};
    if (s.ss_sp == NULL || sigaltstack(&s, NULL) != 0)
        exit(9);
}

static int wait_long(int ep, int i, int ms)
{
    return i % 2 ? poll(NULL, 0, ms) : epoll_wait(ep, &event, 1, ms);
}

static void *undisturbed(void *name)
{
    int bad = 0, ep = epoll_create1(0);
    take_stack();
    for (int i = 0; i < TIMES; i++) {
        struct timespec nap = {.tv_nsec = 10000000};
        bad += nanosleep(&nap, NULL) != 0;
        bad += wait_long(ep, i, 10) != 0;
    }
    printf("%s: %d failed\n", (char *)name, bad);
    return NULL;
}

static void alarm_in(int us)
{
    static timer_t timer;
    static bool made;
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec when = {.it_value.tv_nsec = us * 1000L};
    if (!made && timer_create(CLOCK_MONOTONIC, &e, &timer) != 0)
        exit(9);
    made = true;
    timer_settime(timer, 0, &when, NULL);
}

static void handlers(void)
{
    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
    volatile int bad = 0, ep = epoll_create1(0);
    sigaction(SIGALRM, &a, NULL);
    for (int i = 0; i < TIMES; i++) {
        alarm_in(5000 + i * 100);
        bad += wait_long(ep, i, 20000) != -1 || errno != EINTR;
    }
    printf("%d without EINTR, %d handled\n", bad, handled);
    jumps = true;
    bad = 0;
    for (volatile int i = 0; i < TIMES; i++) {
        if (sigsetjmp(back, 1) != 0)
            continue;
        alarm_in(5000 + i * 100);
        (void)wait_long(ep, i, 20000);
        bad++;
    }
    printf("%d without a jump, %d handled\n", bad, handled);
}

static void *sleeps(void *kind)
{
    int ep = epoll_create1(0);
    if ((long)kind / 2 != 0)
        take_stack();
    while (ep >= 0)
        (void)wait_long(ep, (int)((long)kind % 2), 100000);
    return kind;
}

static void cancellation(void)
{
    int cancelled = 0;
    for (long i = 0; i < TIMES; i++) {
        pthread_t t;
        void *result = NULL;
        pthread_create(&t, NULL, sleeps, (void *)(i % 4)); /* NOLINT: a number */
        usleep((useconds_t)(10000 + i * 100));
        pthread_cancel(t);
        pthread_join(t, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d cancelled\n", cancelled);
}

int main(void)
{
    pthread_t t;
    undisturbed("main");
    pthread_create(&t, NULL, undisturbed, "thread");
    pthread_join(t, NULL);
    handlers();
    cancellation();
    return 0;
}
