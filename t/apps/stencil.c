/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application: Jacobi iterations on a 2D grid with halo exchange. MPI_Pcontrol marks its
 * phases.
 *
 * stencil [PHASES [ITERATIONS [CELLS]]]: default 3 phases of 20 iterations on 64 x 64 cells a rank.
 *
 * Each phase: MPI_Pcontrol(1, "solve"), the iterations, MPI_Pcontrol(0, "solved"), then the
 * residual over all ranks. The output depends only on the arguments and the ranks. An iteration
 * makes 4 Irecv, 4 Isend, 1 Waitall and 1 Allreduce. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct grid {
    int cells, stride;
    double *now, *next;
    double *send[4], *receive[4];
    int neighbour[4];
    MPI_Comm comm;
};

enum { WEST, EAST, SOUTH, NORTH };

static double *allocate(size_t n)
{
    double *p = calloc(n, sizeof *p);
    if (p == NULL) {
        perror("stencil");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

static void grid_create(struct grid *g, int cells)
{
    int size, dims[2] = {0, 0}, periods[2] = {0, 0}, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &g->comm);
    MPI_Cart_shift(g->comm, 0, 1, &g->neighbour[WEST], &g->neighbour[EAST]);
    MPI_Cart_shift(g->comm, 1, 1, &g->neighbour[SOUTH], &g->neighbour[NORTH]);
    MPI_Comm_rank(g->comm, &rank);
    g->cells = cells;
    g->stride = cells + 2;
    g->now = allocate((size_t)g->stride * (size_t)g->stride);
    g->next = allocate((size_t)g->stride * (size_t)g->stride);
    for (int side = 0; side < 4; side++) {
        g->send[side] = allocate((size_t)cells);
        g->receive[side] = allocate((size_t)cells);
    }
    for (int i = 1; i <= cells; i++)
        for (int j = 1; j <= cells; j++)
            g->now[i * g->stride + j] = rank + 1 + (i * 7 + j * 3) % 11;
}

static void grid_destroy(struct grid *g)
{
    for (int side = 0; side < 4; side++) {
        free(g->send[side]);
        free(g->receive[side]);
    }
    free(g->now);
    free(g->next);
    MPI_Comm_free(&g->comm);
}

/* Returns the cell at distance `k` along a side: the outermost inner cell (`halo` 0) or the halo
 * cell beyond it (`halo` 1). */
static double *cell(struct grid *g, int side, int k, int halo)
{
    int last = g->cells + halo, first = 1 - halo;
    switch (side) {
    case WEST: return &g->now[first * g->stride + k];
    case EAST: return &g->now[last * g->stride + k];
    case SOUTH: return &g->now[k * g->stride + first];
    default: return &g->now[k * g->stride + last];
    }
}

static void exchange(struct grid *g)
{
    MPI_Request requests[8];
    for (int side = 0; side < 4; side++)
        MPI_Irecv(g->receive[side], g->cells, MPI_DOUBLE, g->neighbour[side], side ^ 1, g->comm,
                  &requests[side]);
    for (int side = 0; side < 4; side++) {
        for (int k = 1; k <= g->cells; k++)
            g->send[side][k - 1] = *cell(g, side, k, 0);
        MPI_Isend(g->send[side], g->cells, MPI_DOUBLE, g->neighbour[side], side, g->comm,
                  &requests[4 + side]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int side = 0; side < 4; side++)
        if (g->neighbour[side] != MPI_PROC_NULL)
            for (int k = 1; k <= g->cells; k++)
                *cell(g, side, k, 1) = g->receive[side][k - 1];
}

/* Does one sweep; returns the largest change on this rank. */
static double sweep(struct grid *g)
{
    double largest = 0;
    for (int i = 1; i <= g->cells; i++)
        for (int j = 1; j <= g->cells; j++) {
            const double *p = &g->now[i * g->stride + j];
            double value = 0.25 * (p[-1] + p[1] + p[-g->stride] + p[g->stride]);
            largest = fmax(largest, fabs(value - *p));
            g->next[i * g->stride + j] = value;
        }
    double *swap = g->now;
    g->now = g->next;
    g->next = swap;
    return largest;
}

static double solve(struct grid *g, int iterations)
{
    double change = 0;
    for (int n = 0; n < iterations; n++) {
        exchange(g);
        double mine = sweep(g);
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, g->comm);
    }
    return change;
}

int main(int argc, char **argv)
{
    int phases = argc > 1 ? atoi(argv[1]) : 3;
    int iterations = argc > 2 ? atoi(argv[2]) : 20;
    int cells = argc > 3 ? atoi(argv[3]) : 64;
    int rank, size;
    struct grid g;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (phases < 0 || iterations < 0 || cells < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: stencil [PHASES [ITERATIONS [CELLS]]]\n");
        MPI_Finalize();
        return 2;
    }
    grid_create(&g, cells);
    for (int phase = 0; phase < phases; phase++) {
        MPI_Pcontrol(1, "solve");
        double change = solve(&g, iterations);
        MPI_Pcontrol(0, "solved");
        double mine = 0, sum = 0;
        for (int i = 1; i <= cells; i++)
            for (int j = 1; j <= cells; j++)
                mine += g.now[i * g.stride + j];
        /* Rank 0 adds in rank order, so that the sum does not depend on the library's algorithm. */
        double *all = rank == 0 ? allocate((size_t)size) : NULL;
        MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, g.comm);
        for (int r = 0; r < size && rank == 0; r++)
            sum += all[r];
        free(all);
        if (rank == 0)
            printf("phase %d: change %.6e, sum %.9e\n", phase, change, sum);
    }
    grid_destroy(&g);
    MPI_Finalize();
    return 0;
}
