/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: executes as many million instructions as argument 1 says in each of as many threads
 * as argument 2 says (default 0: only in main), and prints the number. */
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
