/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks with uneven work, for timelines: regions, marks, functions (compile with
 * -finstrument-functions), messages in a ring, collectives, and a second thread that works
 * independently.
 *
 * phases [ROUNDS [WORK]]: 12 rounds by default; ranks have from 1 to 2 times WORK. */
#include <mpi.h>
#include <pthread.h>
#include <regtrace.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double sink;

__attribute__((noinline)) void smooth(long work)
{
    double x = 1;
    for (long i = 0; i < work; i++)
        x = x * 0.999 + 0.5 / (double)(i + 1);
    sink = x;
}

__attribute__((noinline)) void refine(long work, int depth)
{
    smooth(work / 4);
    if (depth > 0)
        refine(work / 2, depth - 1);
    smooth(work / 4);
}

__attribute__((noinline)) void exchange(int rank, int size, double *halo)
{
    MPI_Request r[2];
    MPI_Irecv(halo, 512, MPI_DOUBLE, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(halo + 512, 512, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void *helper(void *work)
{
    for (int i = 0; i < 8; i++) {
        regtrace_region_begin("output");
        smooth(*(long *)work);
        regtrace_region_end("output");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 12, rank, size;
    long work = argc > 2 ? atol(argv[2]) : 60000;
    static double halo[1024];
    double sum = 0, all = 0;
    pthread_t thread;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    regtrace_mark_type(3, 0, "Round");
    if (pthread_create(&thread, NULL, helper, &work) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < rounds; i++) {
        MPI_Pcontrol(1, "solve");
        regtrace_mark_set(3, i + 1);
        regtrace_region_begin("compute");
        refine(work + work * ((rank + i) % size) / size, 3);
        regtrace_region_end("compute");
        regtrace_region_begin("communicate");
        for (int k = 0; k < 3; k++)
            exchange(rank, size, halo);
        sum += halo[0] + i;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        regtrace_region_end("communicate");
        MPI_Pcontrol(0, "solved");
        smooth(work / 8);
    }
    pthread_join(thread, NULL);
    if (rank == 0)
        printf("%g\n", all);
    MPI_Finalize();
    return 0;
}
