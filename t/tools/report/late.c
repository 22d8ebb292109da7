/* SPDX-License-Identifier: BSD-3-Clause
 * One rank sleeps before its 40th send, in a function that two others call. usage: late LOG
 *
 * Rank 0 tells rank 1 that it is about to receive; rank 1 then sends. LOG gets how long rank 0
 * waited for the sends from second(), in ns by the program's own clock: from the beginning of each
 * receive to that of its send. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static int rank, sends;
static int other;
static volatile int kept;
static long long sent[61], received[61];

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void give(int x)
{
    if (++sends == 40)
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    sent[sends] = now();
    MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD); /* the send */
}

__attribute__((noinline)) static void first(int x)
{
    give(x);  /* from first */
    kept = x; /* so that the call is no jump */
}

__attribute__((noinline)) static void second(int x)
{
    give(x + 1); /* from second */
    kept = x;    /* so that the call is no jump */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++) /* the first messages connect the ranks */
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 0, &other, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    for (int i = 1; i <= 60; i++) {
        int x = i;
        if (rank == 0) {
            MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            received[i] = now();
            MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (i % 3 == 0)
                first(i);
            else
                second(i);
        }
    }
    if (rank == 1) {
        long long waited = 0;
        MPI_Recv(received, 61, MPI_LONG_LONG, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i <= 60; i++)
            waited += i % 3 != 0 && sent[i] > received[i] ? sent[i] - received[i] : 0;
        FILE *f = fopen(argv[1], "w");
        fprintf(f, "%lld\n", waited);
        fclose(f);
    } else if (rank == 0) {
        MPI_Send(received, 61, MPI_LONG_LONG, 1, 3, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
