/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that is late, to try `regtrace report` on (tutorial.md). The last rank works 80 ms longer
 * than the others. The rank below it waits for its message, and thereby is late for the next one.
 *
 *     mpicc -g -O2 -o late_rank late_rank.c
 *     regtrace run -o late -- mpirun -np 3 ./late_rank
 *     regtrace report late */
#include <mpi.h>
#include <time.h>

static int rank, ranks;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double length)
{
    for (double end = seconds() + length; seconds() < end;)
        ;
}

/* Passes a number from the last rank down to rank 0. */
__attribute__((noinline)) static void pass_on(void)
{
    int number = rank;
    if (rank < ranks - 1)
        MPI_Recv(&number, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 0)
        MPI_Send(&number, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pass_on(); /* the first messages connect the ranks */
    MPI_Barrier(MPI_COMM_WORLD);
    work(rank == ranks - 1 ? 0.085 : 0.005);
    pass_on();
    return MPI_Finalize();
}
