/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of one MPI_Barrier on MPI_COMM_SELF: median ns over rounds of 2,000 calls, on one line.
 *
 * mpi_call [ROUNDS [PAUSE_MS [DEPTH]]]: each round is made in a function DEPTH calls below main
 * (default 0); rounds are shorter than a time slice, so that a busy machine
 * disturbs few of them. After 20 rounds (40,000 calls, 80,000 events, 2.5 MB) the program pauses,
 * so that bursts fit the stream. t/bench/run runs it bare and preloaded in turn.
 *
 * mpi_call sustained SECONDS: without pauses; prints the mean, which includes all waiting. */
#include "t/bench/programs/median.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 2000, BURST = 20, MOST = 20000 };

/* A frame of its own, which an optimizing compiler keeps. */
__attribute__((noinline)) static double one_round(int depth)
{
    if (depth > 0) {
        volatile double below = one_round(depth - 1);
        return below;
    }
    double began = bench_now_ns();
    for (int i = 0; i < CALLS; i++)
        MPI_Barrier(MPI_COMM_SELF);
    return (bench_now_ns() - began) / CALLS;
}

static double sustained(double seconds)
{
    double began = bench_now_ns(), now = began;
    long calls = 0;
    for (; now - began < seconds * 1e9; now = bench_now_ns(), calls += CALLS)
        (void)one_round(0);
    return (now - began) / (double)calls;
}

int main(int argc, char **argv)
{
    static double rounds[MOST];
    MPI_Init(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "sustained") == 0) {
        printf("%.1f\n", sustained(atof(argv[2])));
        MPI_Finalize();
        return 0;
    }
    int n = bench_count(argc, argv, 301, MOST);
    long pause_ms = argc > 2 ? atol(argv[2]) : 0;
    int depth = argc > 3 ? atoi(argv[3]) : 0;
    for (int r = -BURST; r < n; r++) { /* the first burst warms up */
        if (r % BURST == 0 && pause_ms > 0) {
            struct timespec pause = {.tv_sec = pause_ms / 1000,
                                     .tv_nsec = pause_ms % 1000 * 1000000};
            nanosleep(&pause, NULL);
        }
        double ns = one_round(depth);
        if (r >= 0)
            rounds[r] = ns;
    }
    printf("%.1f\n", bench_median(rounds, (size_t)n));
    MPI_Finalize();
    return 0;
}
