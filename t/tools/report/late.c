/* SPDX-License-Identifier: BSD-3-Clause
 * One rank sleeps before its 40th send, in a function that two others call. usage: late LOG
 *
 * Rank 0 tells rank 1 that it is about to receive; rank 1 then sends. LOG gets two figures, in ns
 * by the program's own clock. The first is how long rank 0 waited for the sends from second(): from
 * the beginning of each receive to that of its send. The second is which part of its waits rank 1
 * caused by what it did between its receive and its send from second(). */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static int rank, sends;
static int other;
static volatile int kept;
/* When: rank 0 begins to tell, and to receive; rank 1 begins to be told, is told, and sends. */
static long long tells[61], received[61], asks[61], told[61], sent[61];

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

static int is_from_second(int i)
{
    return i % 3 != 0;
}

/* How long rank 0 waits for this send. */
static double waited(int i)
{
    return sent[i] > received[i] ? (double)(sent[i] - received[i]) : 0;
}

/* Each wait is for all that rank 1 did since one of them last waited for the other, in proportion
 * to its time. */
static double caused(void)
{
    double cost = 0, worked = 0, since = (double)tells[1];
    for (int i = 1; i <= 60; i++) {
        if (tells[i] > asks[i]) {
            since = (double)tells[i];
            worked = 0;
        }
        worked += is_from_second(i) ? (double)(sent[i] - told[i]) : 0;
        if (waited(i) > 0) {
            cost += waited(i) * worked / ((double)sent[i] - since);
            since = (double)sent[i];
            worked = 0;
        }
    }
    return cost;
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
            tells[i] = now();
            MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            received[i] = now();
            MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            asks[i] = now();
            MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            told[i] = now();
            if (is_from_second(i))
                second(i);
            else
                first(i);
        }
    }
    if (rank == 1) {
        double all = 0;
        MPI_Recv(received, 61, MPI_LONG_LONG, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(tells, 61, MPI_LONG_LONG, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i <= 60; i++)
            all += is_from_second(i) ? waited(i) : 0;
        FILE *f = fopen(argv[1], "w");
        fprintf(f, "%.0f\n%.0f\n", all, caused());
        fclose(f);
    } else if (rank == 0) {
        MPI_Send(received, 61, MPI_LONG_LONG, 1, 3, MPI_COMM_WORLD);
        MPI_Send(tells, 61, MPI_LONG_LONG, 1, 3, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
