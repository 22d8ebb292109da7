/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of one event with 16 bytes of payload, and of reading a clock. Prints lines "name value",
 * ns.
 *
 * event bursts ROUNDS EVENTS PAUSE_MS: bursts that fit the stream, with pauses for the writer
 * between them. Measured in parts of 2,000 events, shorter than a time slice, so that a busy
 * machine disturbs few parts. Measured separately:
 * - the very first event, which starts the recording (folder, stream, writer)
 * - the first burst, which touches the stream's pages for the first time
 *
 * event sustained EVENTS: without pauses. The ns an event include the waiting; "processor" is the
 * processor time of them. */
#include "share/include/regtrace.h"
#include "t/bench/programs/median.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { PART = 2000, MOST = 100000 };
static double parts[MOST];

static double burst(long events)
{
    double began = bench_now_ns();
    for (long i = 0; i < events; i++)
        regtrace_mark_set(1, i);
    return (bench_now_ns() - began) / (double)events;
}

static double processor_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double gettime_part(void)
{
    uint64_t sum = 0;
    double began = bench_now_ns();
    for (long i = 0; i < PART; i++) {
        struct timespec ts;
        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        sum += (uint64_t)ts.tv_nsec;
    }
    __asm__ volatile("" ::"r"(sum));
    return (bench_now_ns() - began) / PART;
}

static double rdtsc_part(void)
{
    uint64_t sum = 0;
    double began = bench_now_ns();
#if defined(__x86_64__)
    for (long i = 0; i < PART; i++)
        sum += __rdtsc();
#endif
    __asm__ volatile("" ::"r"(sum));
    return (bench_now_ns() - began) / PART;
}

static double median_of(double (*part)(void), int n)
{
    for (int i = 0; i < n; i++)
        parts[i] = part();
    return bench_median(parts, (size_t)n);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "sustained") == 0) {
        double busy = processor_ns(), cost = burst(atol(argv[2]));
        printf("sustained %.2f\n", cost);
        printf("processor %.2f\n", (processor_ns() - busy) / (double)atol(argv[2]));
        return 0;
    }
    if (argc < 5)
        return 2;
    int bursts = bench_count(argc - 1, argv + 1, 21, 1000), n = 0;
    long events = atol(argv[3]);
    double start = burst(1), first = burst(events);
    for (int r = 0; r < bursts; r++) {
        usleep((useconds_t)(atoi(argv[4]) * 1000));
        for (long done = 0; done < events && n < MOST; done += PART)
            parts[n++] = burst(PART);
    }
    printf("start %.2f\n", start);
    printf("first %.2f\n", first);
    printf("event %.2f\n", bench_median(parts, (size_t)n));
    printf("least %.2f\n", parts[0]); /* bench_median() has sorted them */
    printf("clock_gettime %.2f\n", median_of(gettime_part, 200));
    printf("rdtsc %.2f\n", median_of(rdtsc_part, 200));
    return 0;
}
