/* SPDX-License-Identifier: BSD-3-Clause
 * Calls MPI from paths that are whole and from deep ones, from one line twice, and in a thread; and
 * spends 200 ms of processor time in MPI_Reduce_local in each thread. */
#include <mpi.h>
#include <pthread.h>
#include <time.h>

static volatile int kept;
static double numbers[2][100000];

#define APART __attribute__((noinline, noclone))

APART static void shallow(void)
{
    MPI_Barrier(MPI_COMM_SELF);
    kept++;
}

APART static void deep(int n)
{
    if (n > 0)
        deep(n - 1);
    else
        MPI_Barrier(MPI_COMM_SELF);
    kept++;
}

APART static void twice(void)
{
    int n;
    MPI_Comm_size(MPI_COMM_SELF, &n), kept += n, MPI_Comm_size(MPI_COMM_SELF, &n); /* one line */
    kept++;
}

APART static void reduce(double *from, double *to)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
        MPI_Reduce_local(from, to, 100000, MPI_DOUBLE, MPI_SUM);
    kept++;
}

static void *in_thread(void *unused)
{
    shallow();
    reduce(numbers[0], numbers[1]);
    return unused;
}

int main(void)
{
    pthread_t thread;
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    shallow();
    deep(20);
    twice();
    reduce(numbers[0], numbers[1]);
    if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
        pthread_join(thread, NULL);
    return MPI_Finalize();
}
