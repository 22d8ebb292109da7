/* SPDX-License-Identifier: BSD-3-Clause
 * OpenMP: loops shared by threads, a reduction, and tasks if there is a third argument. SIZE:
 * numbers. Each thread opens its own window, the first thread last. */
#include "kernel.h"

#include <omp.h>
#include <stdlib.h>

KEEP static double smooth(long n, const double *a, double *b)
{
    long sum = 0; /* whole: doubles are added in a loop that depends on other threads */
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long i = 1; i < n - 1; i++) {
        b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        sum += (long)(16 * b[i]);
    }
    return (double)sum / 16;
}

KEEP static void update(long n, double *a, const double *b, const int *order)
{
#pragma omp parallel for schedule(static, 16)
    for (long i = 1; i < n - 1; i++)
        a[i] = .5 * (b[order[i]] + b[i]);
}

KEEP static long count(const int *order, long from, long to)
{
    long left = 0, right = 0;
    if (to - from < 64) {
        for (long i = from; i < to; i++)
            left += order[i] & 1;
        return left;
    }
#pragma omp task shared(left)
    left = count(order, from, (from + to) / 2);
#pragma omp task shared(right)
    right = count(order, (from + to) / 2, to);
#pragma omp taskwait
    return left + right;
}

KEEP static long count_all(const int *order, long n)
{
    long found = 0;
#pragma omp parallel
#pragma omp single
    found = count(order, 0, n);
    return found;
}

KEEP static void open_others(void)
{
#pragma omp parallel
    if (omp_get_thread_num() != 0)
        open_window();
}

KEEP static void close_others(void)
{
#pragma omp parallel
    if (omp_get_thread_num() != 0)
        close_window();
}

int main(int argc, char **argv)
{
    long n = kernel_argument(argc, argv, 1, 200000, 10000000);
    long turns = kernel_argument(argc, argv, 2, 60, 1000000);
    uint32_t state = 4;
    double *a = calloc((size_t)n, sizeof *a), *b = calloc((size_t)n, sizeof *b), sum = 0;
    int *order = calloc((size_t)n, sizeof *order);
    for (long i = 0; i < n; i++) {
        a[i] = (double)(i % 7);
        order[i] = (int)(kernel_random(&state) % (uint32_t)n);
    }
    omp_set_dynamic(0);
    sum += smooth(n, a, b);
    open_others();
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        sum += smooth(n, a, b);
        update(n, a, b, order);
        if (argc > 3)
            sum += (double)count_all(order, n);
    }
    close_window();
    close_others();
    /* Threads add up in any order. */
    kernel_end(began, (double)(float)sum);
    return 0;
}
