/* SPDX-License-Identifier: BSD-3-Clause
 * Two ranks that do all that channels show: functions, nested MPI calls, regions, marks of both
 * kinds, windows, and a thread that records. Functions last across the edges of windows. With an
 * argument, rank 1 kills itself in its last window. */
#include <mpi.h>
#include <pthread.h>
#include <regtrace.h>
#include <signal.h>
#include <unistd.h>

enum { WINDOWS = 5 };

__attribute__((noinline)) void told_inner(int times)
{
    for (int i = 0; i < times; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

__attribute__((noinline)) void told_outer(int times)
{
    told_inner(times);
    told_inner(1);
}

/* Opens a window, which another function closes. */
__attribute__((noinline)) void told_across(int rank)
{
    int got = 0;
    regtrace_start(0);
    told_outer(1);
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&got, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *aside(void *unused)
{
    regtrace_start(0);
    regtrace_region_begin("aside");
    regtrace_mark_set(8, 5000000000);
    told_inner(0);
    regtrace_region_end("aside");
    regtrace_stop(0);
    return unused;
}

int main(int argc, char **argv)
{
    int rank, provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    regtrace_mark_type(7, REGTRACE_MARK_STACK, "step");
    regtrace_mark_label(7, 3, "three");
    for (int i = 1; i <= WINDOWS; i++) {
        told_across(rank);
        regtrace_region_begin("loop");
        regtrace_mark_push(7, i);
        told_outer(i);
        if (argc > 1 && rank == 1 && i == WINDOWS)
            (void)raise(SIGKILL);
        if (i == 2) /* what is open now ends outside the window */
            regtrace_stop(0);
        regtrace_mark_pop(7, i);
        regtrace_region_end("loop");
        regtrace_stop(0);
        told_outer(i);
    }
    if (pthread_create(&thread, NULL, aside, NULL) == 0)
        pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
