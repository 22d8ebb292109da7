/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels whose memory accesses are traced.
 *
 * accesses KERNEL [TURNS]: runs one kernel in one window; prints its nanoseconds and a sum.
 * - stencil: two sweeps over a grid, the first of five points.
 * - chasing: follows a list of 1,000 nodes in the order of a permutation; all nodes are in the
 *   first cache.
 * - chasing_far: the same with 4 million nodes.
 * - sparse: multiplies a matrix of 16 numbers a row by a vector. */
#include "t/bench/programs/median.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

enum { SIDE = 800, NEAR = 1000, FAR = 1 << 22, ROWS = 40000, FILLED = 16 };

static double a[SIDE][SIDE], b[SIDE][SIDE];
struct node {
    struct node *next;
    uint64_t value;
};

APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

APART void sweep(int n)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            a[i][j] = b[i][j];
}

APART void stencil(long turns)
{
    while (turns-- > 0)
        sweep(SIDE);
}

APART uint64_t chase(const struct node *p, long steps)
{
    uint64_t sum = 0;
    while (steps-- > 0) {
        sum += p->value;
        p = p->next;
    }
    return sum;
}

APART void multiply(const double *v, const int *column, const double *x, double *y)
{
    for (long r = 0; r < ROWS; r++) {
        double s = 0;
        for (int k = 0; k < FILLED; k++)
            s += v[r * FILLED + k] * x[column[r * FILLED + k]];
        y[r] = s;
    }
}

APART void sparse(const double *v, const int *column, double *x, double *y, long turns)
{
    while (turns-- > 0)
        multiply(v, column, x, y);
}

static struct node *make_list(long n)
{
    struct node *list = calloc((size_t)n, sizeof *list);
    for (long i = 0; i < n; i++)
        list[i] = (struct node){&list[(i * 7919 + 1) % n], (uint64_t)i};
    return list;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "stencil";
    long turns = argc > 2 ? atol(argv[2]) : 1;
    struct node *list = make_list(strcmp(name, "chasing_far") == 0 ? FAR : NEAR);
    double *v = calloc((size_t)ROWS * FILLED, sizeof *v), *x = calloc(ROWS, sizeof *x),
           *y = calloc(ROWS, sizeof *y);
    int *column = calloc((size_t)ROWS * FILLED, sizeof *column);
    uint64_t sum = 0;
    for (long i = 0; i < (long)ROWS * FILLED; i++) {
        v[i] = (double)i;
        column[i] = (int)(i * 40503 % ROWS);
    }
    sweep(SIDE); /* touches all pages before the clock starts */
    double began = bench_now_ns();
    open_window();
    if (strcmp(name, "stencil") == 0)
        stencil(turns);
    else if (strcmp(name, "sparse") == 0)
        sparse(v, column, x, y, turns);
    else
        sum = chase(list, turns);
    close_window();
    printf("ns %.0f\nsum %.0f\n", bench_now_ns() - began, (double)sum);
    return 0;
}
