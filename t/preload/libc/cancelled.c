/* SPDX-License-Identifier: BSD-3-Clause
 * cancelled WHAT N: cancels N threads while the tracer's signals arrive. WHAT:
 *   waits  they wait in system calls
 *   calls  they call a function, and can be cancelled at any time (asynchronously); one more
 *          thread does so, and is never cancelled
 * Each thread ends as cancelled, in time, and runs its cleanup handler once. That handler finds no
 * signals blocked, calls a function, and gets a signal that it sends to itself. Prints how many
 * threads do. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static int cleaned, handled;
static uint64_t blocked;

__attribute__((noinline)) void small(void)
{
    __asm__ volatile("");
}

static void handler(int signo)
{
    (void)signo;
    handled++;
}

static void clean(void *unused)
{
    enum { LIBC_CANCELS = 32 }; /* libc's own handler blocks its signal */
    sigset_t set;
    (void)unused;
    small();
    (void)pthread_sigmask(SIG_BLOCK, NULL, &set);
    memcpy(&blocked, &set, sizeof blocked);
    blocked &= ~(UINT64_C(1) << (LIBC_CANCELS - 1));
    (void)pthread_kill(pthread_self(), SIGUSR1);
    cleaned++;
}

static void *wait_long(void *way)
{
    struct timespec ts = {.tv_sec = 60};
    struct timeval tv = {.tv_sec = 60};
    struct epoll_event event;
    pthread_cleanup_push(clean, NULL);
    switch (*(int *)way) {
    case 0: nanosleep(&ts, NULL); break;
    case 1: poll(NULL, 0, 60000); break;
    case 2: select(0, NULL, NULL, NULL, &tv); break;
    case 3: epoll_wait(epoll_create1(0), &event, 1, 60000); break;
    default: pause(); break;
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static atomic_int over;

static void *call(void *unused)
{
    (void)unused;
    while (!atomic_load(&over))
        small();
    return NULL;
}

static void *call_long(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    call(unused);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 1, right = 0;
    bool calls = argc > 1 && strcmp(argv[1], "calls") == 0;
    pthread_t other;
    if (calls && pthread_create(&other, NULL, call, NULL) != 0)
        return 1;
    (void)signal(SIGUSR1, handler);
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        void *result;
        int way = i % 5;
        cleaned = handled = 0;
        if (pthread_create(&thread, NULL, calls ? call_long : wait_long, &way) != 0)
            return 1;
        usleep((useconds_t)(2000 + i * 37));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        right += result == PTHREAD_CANCELED && cleaned == 1 && handled == 1 && blocked == 0;
    }
    atomic_store(&over, 1);
    if (calls)
        pthread_join(other, NULL);
    printf("%d cancelled\n", right);
    return 0;
}
