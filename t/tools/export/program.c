/* SPDX-License-Identifier: BSD-3-Clause
 * An MPI program with everything that is exported: windows for all threads, threads, regions (some
 * nested, some across the ends of functions), marks, functions, point-to-point and collective
 * calls. `program kill`: rank 1 kills itself in the middle. */
#include <mpi.h>
#include <pthread.h>
#include <regtrace.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 6, TYPE_STACK = 7, TYPE_SINGLE = 8 };
static MPI_Comm odd;

__attribute__((noinline)) static void begins(void)
{
    regtrace_region_begin("across, \"quoted\"");
}

__attribute__((noinline)) static void ends(void)
{
    regtrace_region_end("across, \"quoted\"");
}

__attribute__((noinline)) static double work(int n)
{
    double x = 0;
    for (int i = 0; i < n; i++)
        x += 1.0 / (1 + i);
    return x;
}

static void *thread(void *argument)
{
    double *x = argument;
    for (int i = 0; i < 20; i++) {
        regtrace_region_begin("a, b");
        *x += work(1000);
        regtrace_region_end("a, b");
    }
    return NULL;
}

static void handler(int number)
{
    (void)number;
    (void)work(10);
}

static void exchange(int rank, int size, int step)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, in = 0, out = rank;
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, left, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, right, step, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, right, 99, &in, 1, MPI_INT, left, 99, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Collectives on MPI_COMM_SELF, and on a communicator in which ranks have other numbers. */
static void other_comms(void)
{
    int rank, root, one = 1;
    MPI_Comm_rank(odd, &rank);
    MPI_Comm_size(odd, &root);
    root--;
    MPI_Bcast(&one, 1, MPI_INT, root, odd);
    MPI_Barrier(MPI_COMM_SELF);
}

static void step(int rank, int size, int i, const char *mode)
{
    double mine = 0, sum = 0;
    pthread_t t;
    regtrace_region_begin("step");
    regtrace_mark_push(TYPE_STACK, i + 1);
    regtrace_mark_set(TYPE_SINGLE, 100 + i % 3);
    begins();
    pthread_create(&t, NULL, thread, &mine);
    exchange(rank, size, i);
    raise(SIGUSR1);
    ends();
    pthread_join(t, NULL);
    if (strcmp(mode, "kill") == 0 && rank == 1 && i == STEPS / 2)
        raise(SIGKILL);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    other_comms();
    regtrace_mark_pop(TYPE_STACK, i + 1);
    regtrace_region_end("step");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int rank, size, provided;
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    (void)signal(SIGUSR1, handler);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &odd);
    regtrace_mark_type(TYPE_STACK, REGTRACE_MARK_STACK, "phase");
    regtrace_mark_type(TYPE_SINGLE, REGTRACE_MARK_SINGLE, "level; of \\ all");
    regtrace_mark_label(TYPE_STACK, 1, "first");
    regtrace_mark_label(TYPE_SINGLE, 101, "one more");
    for (int i = 0; i < STEPS; i++) {
        regtrace_start(1);
        step(rank, size, i, mode);
        regtrace_stop(1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&odd);
    MPI_Finalize();
    return 0;
}
