/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of one traced function (its enter and its exit): median ns a call over rounds of 2,000 in
 * bursts of 20,000, on one line. Compiled with -pg or -fpatchable-function-entry for uftrace, with
 * -finstrument-functions for regtrace, and without any of these. */
#include "t/bench/programs/median.h"

__attribute__((noinline)) static int leaf(int x)
{
    __asm__ volatile("" ::: "memory");
    return x * 7 + 1; /* long enough for a jump */
}

/* main is not traced: its own events would count. */
__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
    enum { CALLS = 2000, BURST = 10, MOST = 10000 };
    static double rounds[MOST];
    int x = 0, n = bench_count(argc, argv, 210, MOST);
    for (int r = -BURST; r < n; r++) {
        struct timespec pause = {.tv_nsec = 20000000}; /* the tracer writes its buffers here */
        if (r % BURST == 0)
            nanosleep(&pause, NULL);
        double began = bench_now_ns();
        for (int i = 0; i < CALLS; i++)
            x = leaf(x);
        if (r >= 0)
            rounds[r] = (bench_now_ns() - began) / CALLS;
    }
    __asm__ volatile("" ::"r"(x));
    printf("%.2f\n", bench_median(rounds, (size_t)n));
    return 0;
}
