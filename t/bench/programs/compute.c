/* SPDX-License-Identifier: BSD-3-Clause
 * A compute loop without any call, which shows the cost of an idle preload. Prints the median ns of
 * its rounds on one line. */
#include "t/bench/programs/median.h"

int main(int argc, char **argv)
{
    enum { CELLS = 4096, SWEEPS = 400, MOST = 1000 };
    static double a[CELLS], b[CELLS], rounds[MOST];
    int n = bench_count(argc, argv, 21, MOST);
    for (int i = 0; i < CELLS; i++)
        a[i] = i;
    for (int r = -1; r < n; r++) { /* the first round warms up */
        double began = bench_now_ns();
        for (int s = 0; s < SWEEPS; s++) {
            for (int i = 1; i < CELLS - 1; i++)
                b[i] = 0.5 * a[i] + 0.25 * (a[i - 1] + a[i + 1]);
            for (int i = 1; i < CELLS - 1; i++)
                a[i] = b[i];
            __asm__ volatile("" ::: "memory");
        }
        if (r >= 0)
            rounds[r] = bench_now_ns() - began;
    }
    printf("%.1f\n", bench_median(rounds, (size_t)n));
    return 0;
}
