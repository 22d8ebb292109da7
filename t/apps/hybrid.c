/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application with MPI and OpenMP. Threads compute and the main thread communicates
 * (MPI_THREAD_FUNNELED); if the library allows it, all threads communicate (MPI_THREAD_MULTIPLE).
 *
 * hybrid [STEPS]: the output depends only on the argument, the ranks and OMP_NUM_THREADS (default
 * 2). */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 4096

static long data[CELLS];

static long compute(int step)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int i = 0; i < CELLS; i++) {
        data[i] = (data[i] * 31 + step + i) % 10007;
        sum += data[i];
    }
    return sum;
}

/* Each thread passes a number around the ring of the threads with its number, which is the tag. */
static long all_threads_talk(int rank, int size)
{
    long total = 0;
#pragma omp parallel reduction(+ : total)
    {
        int t = omp_get_thread_num();
        long out = 100L * rank + t, in = 0;
        MPI_Sendrecv(&out, 1, MPI_LONG, (rank + 1) % size, t, &in, 1, MPI_LONG,
                     (rank + size - 1) % size, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        total += in * (t + 1);
    }
    return total;
}

int main(int argc, char **argv)
{
    int level, rank, size, steps = argc > 1 ? atoi(argv[1]) : 10;
    if (getenv("OMP_NUM_THREADS") == NULL)
        omp_set_num_threads(2);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long sum = 0, all = 0;
    MPI_Pcontrol(1, "solve");
    for (int step = 0; step < steps; step++) {
        long mine = compute(step + rank);
        MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum += all % 1000;
    }
    MPI_Pcontrol(0, "solved");
    long talk = level == MPI_THREAD_MULTIPLE ? all_threads_talk(rank, size) : 0, talks = 0;
    MPI_Reduce(&talk, &talks, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %ld, talk %ld, threads %d\n", sum, talks, omp_get_max_threads());
    MPI_Finalize();
    return 0;
}
