/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of one MPI_Barrier on MPI_COMM_SELF: median ns over rounds of 2,000 calls, on one line.
 *
 * mpi_call [ROUNDS [PAUSE_MS]]: rounds are shorter than a time slice, so that a busy machine
 * disturbs few of them. After 20 rounds (40,000 calls, 80,000 events, 2.5 MB) the program pauses,
 * so that bursts fit the stream. t/bench/run runs it bare and preloaded in turn. */
#include "t/bench/programs/median.h"

#include <mpi.h>

int main(int argc, char **argv)
{
    enum { CALLS = 2000, BURST = 20, MOST = 20000 };
    static double rounds[MOST];
    MPI_Init(&argc, &argv);
    int n = bench_count(argc, argv, 301, MOST);
    long pause_ms = argc > 2 ? atol(argv[2]) : 0;
    for (int r = -BURST; r < n; r++) { /* the first burst warms up */
        if (r % BURST == 0 && pause_ms > 0) {
            struct timespec pause = {.tv_sec = pause_ms / 1000,
                                     .tv_nsec = pause_ms % 1000 * 1000000};
            nanosleep(&pause, NULL);
        }
        double began = bench_now_ns();
        for (int i = 0; i < CALLS; i++)
            MPI_Barrier(MPI_COMM_SELF);
        if (r >= 0)
            rounds[r] = (bench_now_ns() - began) / CALLS;
    }
    printf("%.1f\n", bench_median(rounds, (size_t)n));
    MPI_Finalize();
    return 0;
}
