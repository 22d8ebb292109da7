/* SPDX-License-Identifier: BSD-3-Clause
 * waiting: main returns while another thread goes on sleeping for 100 us at a time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static _Atomic int sleeps;

static void *sleep_on(void *unused)
{
    struct timespec t = {.tv_nsec = 100000};
    for (;;) {
        nanosleep(&t, NULL);
        atomic_fetch_add(&sleeps, 1);
    }
    return unused;
}

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, sleep_on, NULL) != 0)
        return 1;
    while (atomic_load(&sleeps) < 20)
        ;
    puts("ended");
    return 0;
}
