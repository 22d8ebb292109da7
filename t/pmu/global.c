/* SPDX-License-Identifier: BSD-3-Clause
 * Runs argv[1] threads that each execute some argv[2] instructions, at the same time, and end
 * together. */
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all;
static long turns;

static void *work(void *unused)
{
    (void)pthread_barrier_wait(&all);
    for (volatile long i = 0; i < turns; i = i + 1)
        continue;
    (void)pthread_barrier_wait(&all);
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 8;
    pthread_t thread[64];
    if (threads < 1 || threads > 64)
        return 2;
    turns = argc > 2 ? atol(argv[2]) / 5 : 10000;
    (void)pthread_barrier_init(&all, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, work, NULL) != 0)
            return 2;
    for (int i = 0; i < threads; i++)
        (void)pthread_join(thread[i], NULL);
    return 0;
}
