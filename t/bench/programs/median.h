/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the benchmark programs: the clock, the median, and the count in their arguments. */
#ifndef REGTRACE_T_BENCH_PROGRAMS_MEDIAN_H
#define REGTRACE_T_BENCH_PROGRAMS_MEDIAN_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `values` in place; returns their median. */
static inline double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof values[0], bench_compare);
    return values[n / 2];
}

/* Returns the first argument, or `otherwise` if there is none, as a count between 1 and `most`. */
static inline int bench_count(int argc, char **argv, int otherwise, int most)
{
    int n = argc > 1 ? atoi(argv[1]) : otherwise;
    return n < 1 ? 1 : n > most ? most : n;
}

#endif
