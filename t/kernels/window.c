/* SPDX-License-Identifier: BSD-3-Clause
 * The window functions and the helpers of kernel.h. They are linked to each kernel, in any
 * language. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

KEEP void open_window(void)
{
    __asm__ volatile("" ::: "memory");
}

KEEP void close_window(void)
{
    __asm__ volatile("" ::: "memory");
}

double kernel_now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

long kernel_argument(int argc, char **argv, int number, long otherwise, long most)
{
    long n = argc > number ? atol(argv[number]) : otherwise;
    return n < 1 ? 1 : n > most ? most : n;
}

void kernel_end(double began, double check)
{
    (void)printf("ns %.0f\ncheck %.10g\n", kernel_now_ns() - began, check);
}
