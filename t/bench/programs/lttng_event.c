/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of one lttng-ust tracepoint with 16 bytes of payload: median ns over rounds of 2,000 in
 * bursts of 20,000, on one line. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "t/bench/programs/lttng_event.h"

#include "t/bench/programs/median.h"

int main(int argc, char **argv)
{
    enum { CALLS = 2000, BURST = 10, MOST = 10000 };
    static double rounds[MOST];
    int n = bench_count(argc, argv, 210, MOST);
    for (int r = -BURST; r < n; r++) {
        struct timespec pause = {.tv_nsec = 50000000}; /* the consumer writes here */
        if (r % BURST == 0)
            nanosleep(&pause, NULL);
        double began = bench_now_ns();
        for (long i = 0; i < CALLS; i++)
            lttng_ust_tracepoint(bench, mark, 1, i);
        if (r >= 0)
            rounds[r] = (bench_now_ns() - began) / CALLS;
    }
    printf("%.2f\n", bench_median(rounds, (size_t)n));
    return 0;
}
