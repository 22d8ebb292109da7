/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of one MPI_Barrier on MPI_COMM_SELF: median of many rounds in ns, one number on one line.
 * Run it bare and preloaded in turn; t/bench compares. An argument gives the number of rounds
 * (default 51) of 20,000 calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { CALLS = 20000, MOST = 1000 };
    static double rounds[MOST];
    int n = 51;
    MPI_Init(&argc, &argv);
    if (argc > 1)
        n = atoi(argv[1]);
    n = n < 1 ? 1 : n > MOST ? MOST : n;
    for (int r = -1; r < n; r++) { /* the first round warms up */
        double began = now_ns();
        for (int i = 0; i < CALLS; i++)
            MPI_Barrier(MPI_COMM_SELF);
        double took = (now_ns() - began) / CALLS;
        if (r >= 0)
            rounds[r] = took;
    }
    qsort(rounds, (size_t)n, sizeof rounds[0], compare);
    printf("%.1f\n", rounds[n / 2]);
    MPI_Finalize();
    return 0;
}
