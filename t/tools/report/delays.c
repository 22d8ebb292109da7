/* SPDX-License-Identifier: BSD-3-Clause
 * Delays whose causes are known, each in a window of its own (MPI_Pcontrol(1) to MPI_Pcontrol(0)),
 * on four ranks. Writes to the file of its argument how long ranks had to wait by its own clock: a
 * line "NAME NS" for each. With a further argument, rests are in a named region.
 *
 * 0: rank 2 is late for rank 1, which is late for rank 0 therefore, which is late for all.
 * 1: rank 1 is late for a collective call.
 * 2: ranks 1 and 2 are late for one MPI_Waitall of rank 0.
 * 3: rank 1 is late twice.
 * 4: rank 1 is late for rank 0, and rank 3 for rank 2.
 * 5: rank 1 is late to receive.
 * 6: the root of a broadcast is late, and a rank that nobody needs even more. */
#include "regtrace.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { PHASES = 7 };

static int rank, x;
static bool has_regions;
static volatile int kept;
/* When the rank was about to make a call of the phase. */
static long long at[PHASES][8], all[4][PHASES][8];

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void rest(int ms)
{
    if (has_regions)
        regtrace_region_begin("resting");
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
    if (has_regions)
        regtrace_region_end("resting");
}

static void give(int phase, int n, int to)
{
    at[phase][n] = now();
    MPI_Send(&x, 1, MPI_INT, to, 10 * phase + n, MPI_COMM_WORLD);
}

static void take(int phase, int n, int from)
{
    at[phase][n] = now();
    MPI_Recv(&x, 1, MPI_INT, from, 10 * phase + n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void root_cause(int phase, int n, int ms, int to)
{
    rest(ms);
    at[phase][n] = now();
    MPI_Send(&x, 1, MPI_INT, to, 10 * phase + n, MPI_COMM_WORLD); /* late */
    kept = ms;
}

static void chain(void)
{
    if (rank == 2)
        root_cause(0, 1, 80, 1); /* the root of the chain */
    if (rank == 1) {
        take(0, 1, 2);
        give(0, 2, 0);
    }
    if (rank == 0)
        take(0, 2, 1);
}

static void collective(void)
{
    int y;
    if (rank == 1)
        rest(60);
    at[1][0] = now();
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void wait_for_two(void)
{
    MPI_Request r[2];
    int y[2];
    if (rank == 1)
        root_cause(2, 1, 30, 0);
    if (rank == 2)
        root_cause(2, 2, 70, 0);
    if (rank != 0)
        return;
    MPI_Irecv(&y[0], 1, MPI_INT, 1, 21, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&y[1], 1, MPI_INT, 2, 22, MPI_COMM_WORLD, &r[1]);
    at[2][0] = now();
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void twice(void)
{
    if (rank == 1) {
        root_cause(3, 1, 40, 0); /* first */
        root_cause(3, 2, 60, 0); /* second */
    }
    if (rank == 0) {
        take(3, 1, 1);
        take(3, 2, 1);
    }
}

static void two_at_once(void)
{
    if (rank == 1)
        root_cause(4, 1, 50, 0);
    if (rank == 3)
        root_cause(4, 2, 70, 2);
    if (rank == 0)
        take(4, 1, 1);
    if (rank == 2)
        take(4, 2, 3);
}

static void late_receiver(void)
{
    if (rank == 0) {
        at[5][0] = now();
        MPI_Ssend(&x, 1, MPI_INT, 1, 51, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        rest(60);
        take(5, 1, 0);
    }
}

static void broadcast(void)
{
    rest(rank == 0 ? 50 : rank == 3 ? 120 : 0);
    at[6][0] = now();
    MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static long long between(int phase, int from, int n, int to, int m)
{
    return all[to][phase][m] - all[from][phase][n];
}

static void write_log(const char *path)
{
    FILE *f = fopen(path, "w");
    fprintf(f, "chain %lld\n", between(0, 1, 1, 2, 1));
    fprintf(f, "collective %lld\n",
            between(1, 0, 0, 1, 0) + between(1, 2, 0, 1, 0) + between(1, 3, 0, 1, 0));
    fprintf(f, "waitall %lld\n", between(2, 0, 0, 2, 2));
    fprintf(f, "first %lld\n", between(3, 0, 1, 1, 1));
    fprintf(f, "second %lld\n", between(3, 0, 2, 1, 2));
    fprintf(f, "left %lld\n", between(4, 0, 1, 1, 1));
    fprintf(f, "right %lld\n", between(4, 2, 2, 3, 2));
    fprintf(f, "receiver %lld\n", between(5, 0, 0, 1, 1));
    fprintf(f, "broadcast %lld\n", between(6, 1, 0, 0, 0) + between(6, 2, 0, 0, 0));
    fclose(f);
}

int main(int argc, char **argv)
{
    static void (*const phases[PHASES])(void) = {
        chain, collective, wait_for_two, twice, two_at_once, late_receiver, broadcast,
    };
    has_regions = argc > 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int to = 0; to < 4; to++) /* the first messages connect the ranks */
        for (int from = 0; from < 4; from++)
            if (from != to && rank == from)
                MPI_Send(&x, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
            else if (from != to && rank == to)
                MPI_Recv(&x, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < PHASES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
        phases[i]();
        MPI_Barrier(MPI_COMM_WORLD); /* the end of a phase */
        MPI_Pcontrol(0);
    }
    MPI_Gather(at, 8 * PHASES, MPI_LONG_LONG, all, 8 * PHASES, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0)
        write_log(argv[1]);
    return MPI_Finalize();
}
