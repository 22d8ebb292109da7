/* SPDX-License-Identifier: BSD-3-Clause
 * Threads that record much and little, and a forked child that does the same: in the files, the
 * pieces of threads lie in any order. `threads N`: N times, slowly, without a child. */
#include <regtrace.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, BURST = 64 };
static int times = 6000;
static bool slowly;

/* Thread n records once in 10^n times. */
static void *work(void *argument)
{
    int each = 1;
    for (intptr_t n = (intptr_t)argument; n > 0; n--)
        each *= 10;
    for (int i = 0; i < times; i++) {
        if (slowly && i % (BURST * each) == 0)
            (void)usleep(1000);
        if (i % each != 0)
            continue;
        regtrace_region_begin("part");
        regtrace_region_end("part");
    }
    return NULL;
}

static void all(void)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        (void)pthread_create(&threads[i], NULL, work, (void *)i); /* NOLINT: a number */
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        times = atoi(argv[1]);
        slowly = true;
        all();
        return 0;
    }
    pid_t child = fork();
    all();
    if (child == 0)
        _exit(0);
    return child < 0 || waitpid(child, NULL, 0) != child;
}
