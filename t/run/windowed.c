/* SPDX-License-Identifier: BSD-3-Clause
 * Phases between MPI_Pcontrol calls, with marks and MPI calls in and between them; logs everything
 * that it does.
 *
 * windowed LOG [PHASES]: LOG.RANK gets a line for each action, in order: "P solve", "P solved", "P
 * extra", "M <number>" (a mark of type 3), "A" (MPI_Allreduce), "B" (MPI_Barrier on self). How many
 * of each there are differs by rank and phase. */
#include "share/include/regtrace.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *log_file;
static long number;
static unsigned state;

static unsigned choose(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

static void control(int level, const char *name)
{
    fprintf(log_file, "P %s\n", name);
    MPI_Pcontrol(level, name);
}

static void work(unsigned marks, unsigned barriers, unsigned sums)
{
    double x = 1, y;
    for (unsigned i = 0; i < marks; i++) {
        regtrace_mark_set(3, ++number);
        fprintf(log_file, "M %ld\n", number);
    }
    for (unsigned i = 0; i < barriers; i++) {
        MPI_Barrier(MPI_COMM_SELF);
        fputs("B\n", log_file);
    }
    for (unsigned i = 0; i < sums; i++) {
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        fputs("A\n", log_file);
    }
}

int main(int argc, char **argv)
{
    char path[4096];
    int rank, phases = argc > 2 ? atoi(argv[2]) : 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    state = 7u + (unsigned)rank;
    if (argc < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof path, "%s.%d", argv[1], rank);
    log_file = fopen(path, "w");
    if (log_file == NULL)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int p = 0; p < phases; p++) {
        work(choose(20), choose(5), 1);
        control(1, "solve");
        work(choose(3000), choose(9), 3);
        control(0, "solved");
        work(choose(10), choose(3), 2);
        control(1, "extra");
    }
    work(5, 5, 0);
    fclose(log_file);
    if (rank == 0)
        puts("windowed: done");
    MPI_Finalize();
    return 0;
}
