/* SPDX-License-Identifier: BSD-3-Clause
 * Measures how long a turn of the same loop takes while a region is awaited and after it is over,
 * in CPU time of the thread. Prints the first as a multiple of the second. "thread": another
 * thread, which calls nothing in between, executes the turns. */
#include "share/include/regtrace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static _Atomic int stage;

/* Returns the ns for one turn, the least of several tries. */
static double measure(unsigned turns)
{
    double least = 1e18;
    for (int i = 0; i < 5; i++) {
        struct timespec a, b;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        for (unsigned k = 0; k < turns; k++)
            __asm__ volatile("");
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
        least = ns / turns < least ? ns / turns : least;
    }
    return least;
}

static void compare(void)
{
    double before = measure(400);
    atomic_store(&stage, 1);
    while (atomic_load(&stage) != 2)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    double after = measure(400);
    printf("%.0f\n", before / after);
}

static void *other(void *nothing)
{
    compare();
    return nothing;
}

static void window(void)
{
    regtrace_region_begin("first");
    regtrace_region_begin("last");
}

int main(int argc, char **argv)
{
    pthread_t thread;
    regtrace_region_begin("awaited by nobody"); /* from here on threads are counted */
    if (argc > 1 && strcmp(argv[1], "thread") == 0) {
        (void)pthread_create(&thread, NULL, other, NULL);
        while (atomic_load(&stage) != 1)
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        window();
        atomic_store(&stage, 2);
        (void)pthread_join(thread, NULL);
        return 0;
    }
    double before = measure(400);
    window();
    printf("%.0f\n", before / measure(400));
    regtrace_start(0);
    regtrace_mark_set(1, 2);
    regtrace_stop(0);
    return 0;
}
