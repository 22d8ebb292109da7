/* SPDX-License-Identifier: BSD-3-Clause
 * Eight steps, each in a window. -DCHANGED makes another version of the program: slow() computes a
 * hundred times as much, messages are eight times as long, gone() is no longer called. -DMORE calls
 * give() once more. */
#include <mpi.h>

#ifdef CHANGED
enum { WORK = 2000000, LENGTH = 800, STEPS = 8 };
#else
enum { WORK = 20000, LENGTH = 100, STEPS = 8 };
#endif

static int rank, size;
static volatile double x;
static char message[LENGTH];

__attribute__((noinline)) void slow(void)
{
    for (int i = 0; i < WORK; i++)
        x = x * 0.999 + i;
}

__attribute__((noinline)) void same(void)
{
    for (int i = 0; i < 20000; i++)
        x = x * 0.999 + i;
}

__attribute__((noinline)) void gone(void)
{
    int y = 1, z;
    MPI_Allreduce(&y, &z, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    x += z;
}

__attribute__((noinline)) void give(void)
{
    MPI_Request r;
    MPI_Irecv(message, LENGTH, MPI_CHAR, (rank + 1) % size, 1, MPI_COMM_WORLD, &r);
    MPI_Send(message, LENGTH, MPI_CHAR, (rank + size - 1) % size, 1, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    x += 1; /* so that the call is no jump */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < STEPS; step++) {
        MPI_Pcontrol(1);
        slow();
        same();
#ifndef CHANGED
        gone();
#endif
        give();
        MPI_Barrier(MPI_COMM_WORLD);
        give();
#ifdef MORE
        give();
#endif
        MPI_Pcontrol(0);
    }
    return MPI_Finalize();
}
