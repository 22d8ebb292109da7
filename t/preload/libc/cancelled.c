/* SPDX-License-Identifier: BSD-3-Clause
 * cancelled N: cancels N threads while they wait and while the tracer's signals arrive. Each thread
 * ends as cancelled, in time, and runs its cleanup handler once. Prints how many did. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1, right = 0;
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        void *result;
        int way = i % 5;
        cleaned = 0;
        if (pthread_create(&thread, NULL, wait_long, &way) != 0)
            return 1;
        usleep((useconds_t)(2000 + i * 37));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        right += result == PTHREAD_CANCELED && cleaned == 1;
    }
    printf("%d cancelled\n", right);
    return 0;
}
