/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: executes so many million instructions (argument 1) in each of so many threads (argument 2, default 0: in
 * main alone), and prints that it did. */
#include "loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long millions;

static void *work(void *unused)
{
    for (long i = 0; i < millions; i++)
        loop_turns(500000);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t t[16];
    int threads = argc > 2 ? atoi(argv[2]) : 0;
    millions = argc > 1 ? atol(argv[1]) : 1;
    if (threads == 0)
        (void)work(NULL);
    for (int i = 0; i < threads && i < 16; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < threads && i < 16; i++)
        pthread_join(t[i], NULL);
    (void)printf("%ld million\n", millions);
    return 0;
}
