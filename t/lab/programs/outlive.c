/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: a second thread executes 3 million instructions and waits for ever. main executes 2
 * million and ends. */
#include "loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int done;

static void *work(void *unused)
{
    loop_turns(1500000);
    atomic_store(&done, 1);
    for (;;)
        (void)pause();
    return unused;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    loop_turns(1000000);
    while (atomic_load(&done) == 0)
        (void)usleep(1000);
    return 0;
}
