/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of one event with 16 bytes of payload, and of reading a clock; each result a line "name value".
 *
 * event bursts ROUNDS EVENTS PAUSE_MS   bursts that fit the stream, pauses for the writer between them: ns an event, the median
 *                                       of rounds without the first (its pages are touched for the first time)
 * event sustained EVENTS                without a pause: ns an event over all, waiting included */
#include "share/include/regtrace.h"
#include "t/bench/median.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static double burst(long events)
{
    double began = bench_now_ns();
    for (long i = 0; i < events; i++)
        regtrace_mark_set(1, i);
    return (bench_now_ns() - began) / (double)events;
}

static void clocks(long n)
{
    uint64_t sum = 0;
    double began = bench_now_ns();
    for (long i = 0; i < n; i++) {
        struct timespec ts;
        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        sum += (uint64_t)ts.tv_nsec;
    }
    printf("clock_gettime %.2f\n", (bench_now_ns() - began) / (double)n);
#if defined(__x86_64__)
    began = bench_now_ns();
    for (long i = 0; i < n; i++)
        sum += __rdtsc();
    printf("rdtsc %.2f\n", (bench_now_ns() - began) / (double)n);
#endif
    __asm__ volatile("" ::"r"(sum));
}

int main(int argc, char **argv)
{
    enum { MOST = 1000 };
    static double rounds[MOST];
    if (argc > 2 && strcmp(argv[1], "sustained") == 0) {
        printf("sustained %.2f\n", burst(atol(argv[2])));
        return 0;
    }
    if (argc < 5)
        return 2;
    int n = bench_count(argc - 1, argv + 1, 21, MOST);
    long events = atol(argv[3]);
    double first = burst(events);
    for (int r = 0; r < n; r++) {
        usleep((useconds_t)(atoi(argv[4]) * 1000));
        rounds[r] = burst(events);
    }
    printf("first %.2f\n", first);
    printf("event %.2f\n", bench_median(rounds, (size_t)n));
    printf("least %.2f\n", rounds[0]); /* sorted by now */
    clocks(1000000);
    return 0;
}
