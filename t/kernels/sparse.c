/* SPDX-License-Identifier: BSD-3-Clause
 * Conjugate gradients with a matrix in compressed rows. SIZE: rows. */
#include "kernel.h"

#include <stdlib.h>

struct matrix {
    int rows, *start, *column;
    double *value;
};

KEEP static void multiply(const struct matrix *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            sum += a->value[k] * x[a->column[k]];
        y[i] = sum;
    }
}

KEEP static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

KEEP static void add(int n, double factor, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += factor * x[i];
}

KEEP static void add_to(int n, const double *x, double factor, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] + factor * y[i];
}

/* Makes a matrix that is heavy on the diagonal, with neighbours near and far. */
static void begin(struct matrix *a)
{
    int n = a->rows, at = 0;
    uint32_t state = 3;
    a->start = calloc((size_t)n + 1, sizeof *a->start);
    a->column = calloc(9 * (size_t)n, sizeof *a->column);
    a->value = calloc(9 * (size_t)n, sizeof *a->value);
    for (int i = 0; i < n; i++) {
        int many = 4 + (int)(kernel_random(&state) % 5);
        for (int k = 0; k < many; k++) {
            a->column[at] = k < 2 ? (i + k) % n : (int)(kernel_random(&state) % (uint32_t)n);
            a->value[at++] = k == 0 ? 10 : .01;
        }
        a->start[i + 1] = at;
    }
}

int main(int argc, char **argv)
{
    struct matrix a = {.rows = (int)kernel_argument(argc, argv, 1, 30000, 1000000)};
    long turns = kernel_argument(argc, argv, 2, 60, 1000000);
    size_t n = (size_t)a.rows;
    double *x = calloc(n, sizeof *x), *r = calloc(n, sizeof *r), *p = calloc(n, sizeof *p),
           *q = calloc(n, sizeof *q);
    begin(&a);
    for (int i = 0; i < a.rows; i++)
        r[i] = p[i] = 1 + i % 3;
    double rho = dot(a.rows, r, r), began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        multiply(&a, p, q);
        double alpha = rho / (dot(a.rows, p, q) + 1e-300), before = rho;
        add(a.rows, alpha, p, x);
        add(a.rows, -alpha, q, r);
        rho = dot(a.rows, r, r);
        add_to(a.rows, r, rho / (before + 1e-300), p);
    }
    close_window();
    kernel_end(began, dot(a.rows, x, x));
    return 0;
}
