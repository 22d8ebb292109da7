/* SPDX-License-Identifier: BSD-3-Clause
 * turns N: executes a loop of 2 N instructions and prints its ns, to show the cost of counting
 * instructions. */
#include "t/bench/programs/median.h"

int main(int argc, char **argv)
{
    long turns = argc > 1 ? atol(argv[1]) : 1;
    double began = bench_now_ns();
#if defined(__x86_64__)
    __asm__ volatile("1:\n\tdec %0\n\tjnz 1b\n" : "+r"(turns) : : "cc");
#elif defined(__aarch64__)
    __asm__ volatile("1:\n\tsubs %0, %0, #1\n\tb.ne 1b\n" : "+r"(turns) : : "cc");
#else
#error "no loop of two instructions for this processor"
#endif
    printf("%.1f\n", bench_now_ns() - began);
    return 0;
}
