/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: threads of MPI_THREAD_MULTIPLE send to themselves and share a communicator. Prints
 * the number of threads and of calls of each. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 500 };

static void *work(void *tag)
{
    int mine = (int)(long)tag, got = -1;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, 0, mine, &got, 1, MPI_INT, 0, mine, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        if (got != i)
            return (void *)1;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    int level, bad = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE) {
        (void)puts("no MPI_THREAD_MULTIPLE");
        MPI_Finalize();
        return 77;
    }
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, work, (void *)(i + 1)) != 0)
            return 3;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        (void)pthread_join(t[i], &result);
        bad |= result != NULL;
    }
    MPI_Finalize();
    (void)printf("%d threads of %d calls\n", THREADS, ROUNDS);
    return bad;
}
