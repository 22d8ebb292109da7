/* SPDX-License-Identifier: BSD-3-Clause
 * Multiplies SU(3) matrices by vectors in C, over the links of a lattice in a random order. SIZE:
 * sites. */
#include "kernel.h"

#include <stdlib.h>

struct complex {
    double re, im;
};
struct matrix {
    struct complex e[3][3];
};
struct vector {
    struct complex c[3];
};

KEEP static void multiply(const struct matrix *a, const struct vector *x, struct vector *y)
{
    for (int i = 0; i < 3; i++) {
        struct complex sum = {0, 0};
        for (int j = 0; j < 3; j++) {
            sum.re += a->e[i][j].re * x->c[j].re - a->e[i][j].im * x->c[j].im;
            sum.im += a->e[i][j].re * x->c[j].im + a->e[i][j].im * x->c[j].re;
        }
        y->c[i] = sum;
    }
}

/* Computes the sum over four links in one function, as lattice codes do. */
KEEP static void four(const struct matrix *a, const struct vector *const x[4], struct vector *y)
{
    for (int i = 0; i < 3; i++) {
        double re = 0, im = 0;
        for (int d = 0; d < 4; d++)
            for (int j = 0; j < 3; j++) {
                re += a[d].e[i][j].re * x[d]->c[j].re - a[d].e[i][j].im * x[d]->c[j].im;
                im += a[d].e[i][j].re * x[d]->c[j].im + a[d].e[i][j].im * x[d]->c[j].re;
            }
        y->c[i].re = re;
        y->c[i].im = im;
    }
}

KEEP static double sweep(long sites, const struct matrix *links, const int *neighbour,
                         struct vector *from, struct vector *to)
{
    double sum = 0;
    for (long s = 0; s < sites; s++) {
        const struct vector *x[4];
        struct vector extra;
        for (int d = 0; d < 4; d++)
            x[d] = &from[neighbour[4 * s + d]];
        four(&links[4 * s], x, &to[s]);
        multiply(&links[4 * s], &from[s], &extra);
        to[s].c[0].re += extra.c[2].im;
        sum += to[s].c[1].re;
    }
    return sum;
}

KEEP static void scale(struct vector *v, long sites, double by)
{
    double *p = &v->c[0].re;
    for (long i = 0; i < 6 * sites; i++)
        p[i] *= by;
}

int main(int argc, char **argv)
{
    long sites = kernel_argument(argc, argv, 1, 20000, 1000000);
    long turns = kernel_argument(argc, argv, 2, 40, 1000000);
    uint32_t state = 5;
    double sum = 0;
    struct matrix *links = calloc(4 * (size_t)sites, sizeof *links);
    struct vector *a = calloc((size_t)sites, sizeof *a), *b = calloc((size_t)sites, sizeof *b);
    int *neighbour = calloc(4 * (size_t)sites, sizeof *neighbour);
    for (long i = 0; i < 4 * sites; i++) {
        neighbour[i] = (int)(kernel_random(&state) % (uint32_t)sites);
        for (int k = 0; k < 9; k++)
            links[i].e[k / 3][k % 3] = (struct complex){kernel_random(&state) % 9 - 4., 1};
    }
    for (long s = 0; s < sites; s++)
        a[s].c[s % 3].re = 1 + (double)s;
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        sum += sweep(sites, links, neighbour, a, b);
        scale(b, sites, .01);
        struct vector *t = a;
        a = b;
        b = t;
    }
    close_window();
    kernel_end(began, sum);
    return 0;
}
