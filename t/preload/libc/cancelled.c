/* SPDX-License-Identifier: BSD-3-Clause
 * cancelled WHAT N: cancels N threads while the tracer's signals arrive. WHAT:
 *   waits  they wait in system calls
 *   calls  they call a function, and can be cancelled at any time (asynchronously); one more
 *          thread does so, and is never cancelled
 * Each thread ends as cancelled, in time, and runs its cleanup handler once. Prints how many do. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static int cleaned;

static void clean(void *unused)
{
    (void)unused;
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

__attribute__((noinline)) void small(void)
{
    __asm__ volatile("");
}

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
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        void *result;
        int way = i % 5;
        cleaned = 0;
        if (pthread_create(&thread, NULL, calls ? call_long : wait_long, &way) != 0)
            return 1;
        usleep((useconds_t)(2000 + i * 37));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        right += result == PTHREAD_CANCELED && cleaned == 1;
    }
    atomic_store(&over, 1);
    if (calls)
        pthread_join(other, NULL);
    printf("%d cancelled\n", right);
    return 0;
}
