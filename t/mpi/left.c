/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: error handlers leave a call without returning, by longjmp() and by a jump that no
 * library sees (as an exception does). Then the program makes calls in a tight loop for the given
 * time. Prints how many calls were left. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 5 };

static jmp_buf by_library;
static void *by_compiler[5];

static void jumps(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    longjmp(by_library, 1);
}

static void vanishes(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    __builtin_longjmp(by_compiler, 1);
}

static MPI_Comm handled_by(MPI_Comm_errhandler_function *function)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    return comm;
}

static volatile int left;

static __attribute__((noinline)) void leave_by_library(MPI_Comm comm)
{
    int x = 0;
    if (setjmp(by_library) == 0)
        MPI_Send(&x, 1, MPI_INT, 99, 0, comm);
    else
        left++;
}

static __attribute__((noinline)) void leave_by_compiler(MPI_Comm comm)
{
    int x = 0;
    if (__builtin_setjmp(by_compiler) == 0)
        MPI_Send(&x, 1, MPI_INT, 99, 0, comm);
    else
        left++;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm one = handled_by(jumps), other = handled_by(vanishes);
    for (int i = 0; i < TIMES; i++) {
        leave_by_library(one);
        MPI_Barrier(MPI_COMM_SELF);
        leave_by_compiler(other);
        MPI_Barrier(MPI_COMM_SELF);
    }
    double until = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 0);
    while (MPI_Wtime() < until)
        for (int i = 0; i < 100; i++) {
            MPI_Comm comm;
            MPI_Barrier(MPI_COMM_SELF);
            if (i == 0 && MPI_Comm_dup(MPI_COMM_SELF, &comm) == 0)
                MPI_Comm_free(&comm);
        }
    (void)printf("left %d calls\n", left);
    MPI_Finalize();
    return 0;
}
