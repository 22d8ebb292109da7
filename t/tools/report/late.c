/* SPDX-License-Identifier: BSD-3-Clause
 * One rank sleeps before its 40th send, in a function that two others call. usage: late LOG
 *
 * Rank 0 tells rank 1 that it is about to receive; rank 1 then sends. Rank 1 sleeps when rank 0 is
 * inside the receive. LOG gets the least and the most time, in ns, that rank 0 waited for the sends
 * from second(): from the begin of each receive to that of its send. Both lie between two readings
 * of the program's clock (logged.h). The ranks share LOG.calls. */
#include "logged.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>

static int rank, sends;
static int other;
static struct logged (*all)[61]; /* by rank */

/* Notes that the rank's i-th call begins. */
static void begins(int i)
{
    logged_now = &all[rank][i];
    logged_now->before = logged_ns();
}

__attribute__((noinline)) static void give(int x)
{
    sends++;
    while (sends == 40 && all[0][40].inside == 0)
        (void)sched_yield();
    if (sends == 40)
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    begins(sends);
    MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD); /* the send */
    logged_now = NULL;
}

__attribute__((noinline)) static void first(int x)
{
    give(x); /* from first */
}

__attribute__((noinline)) static void second(int x)
{
    give(x + 1); /* from second */
}

static double waited(long long from, long long until)
{
    return until > from ? (double)(until - from) : 0;
}

/* The kernel may change the rate of its clock by 500 ppm; times are rounded to ns. */
static void write_log(const char *path)
{
    double least = 0, most = 0;
    while (all[0][60].inside == 0)
        (void)sched_yield();
    for (int i = 1; i <= 60; i++)
        if (i % 3 != 0) {
            least += waited(all[0][i].inside, all[1][i].before);
            most += waited(all[0][i].before, all[1][i].inside);
        }
    FILE *f = fopen(path, "w");
    fprintf(f, "%.0f %.0f\n", 0.999 * least - 1000, 1.001 * most + 1000);
    fclose(f);
}

int main(int argc, char **argv)
{
    char calls[4096];
    (void)snprintf(calls, sizeof calls, "%s.calls", argv[1]);
    if ((all = logged_map(calls, 2 * sizeof *all)) == NULL) {
        perror("the log");
        return 1;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++) /* the first messages connect the ranks */
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 0, &other, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    for (int i = 1; i <= 60; i++) {
        int x = i;
        if (rank == 0) {
            MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            begins(i);
            MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            logged_now = NULL;
        } else if (rank == 1) {
            MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (i % 3 == 0)
                first(i);
            else
                second(i);
        }
    }
    if (rank == 1)
        write_log(argv[1]);
    return MPI_Finalize();
}
