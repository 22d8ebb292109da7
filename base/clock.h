/* SPDX-License-Identifier: BSD-3-Clause
 * The clock of records: raw ticks, which are cheap to read, and the calibration points that turn
 * ticks into time. */
#ifndef REGTRACE_BASE_CLOCK_H
#define REGTRACE_BASE_CLOCK_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The source that clock_ticks() reads. clock_init() chooses it once:
 * - x86-64: the time stamp counter, if it is invariant
 * - aarch64: CNTVCT_EL0
 * - otherwise: CLOCK_MONOTONIC, in ns */
enum clock_source { CLOCK_SOURCE_TSC = 0, CLOCK_SOURCE_CNTVCT = 1, CLOCK_SOURCE_MONOTONIC = 2 };

extern enum clock_source clock_source RT_HIDDEN; /* read-only after clock_init() */

/* Chooses the source (x86-64: by CPUID leaf 0x80000007, bit 8). `force_monotonic`
 * (REGTRACE_CLOCK=monotonic) selects CLOCK_MONOTONIC. */
void clock_init(bool force_monotonic);

static inline uint64_t clock_monotonic_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns true if the clock is a counter of the processor. */
static inline bool clock_is_counter(void)
{
    return clock_source != CLOCK_SOURCE_MONOTONIC;
}

/* Reads the processor's counter. Call it only if clock_is_counter() returns true. */
static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    __builtin_unreachable();
#endif
}

static inline uint64_t clock_ticks(void)
{
    if (__builtin_expect(clock_is_counter(), 1))
        return clock_counter();
    return clock_monotonic_ns();
}

/* One reading of all clocks at (nearly) one moment. */
struct clock_point {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint64_t uncertainty; /* ticks between the two reads that enclose the point */
};

/* Reads all clocks several times and returns the reading with the least uncertainty.
 * Async-signal-safe. Takes about 1 µs. */
struct clock_point clock_calibrate(void);

/* Maps ticks to ns of CLOCK_MONOTONIC through two points, the first and the last of a run. The map
 * is exact at both points and linear between and beyond them. If the points are less than 1 ms
 * apart, the map uses the nominal rate; a nominal rate of 0 stands for 1 ns per tick. */
struct clock_map {
    uint64_t ticks0, ns0;
    double ns_per_tick;
};
struct clock_map clock_map_make(const struct clock_point *first, const struct clock_point *last,
                                double nominal_ns_per_tick);
static inline int64_t clock_map_ns(const struct clock_map *m, uint64_t ticks)
{
    return (int64_t)m->ns0 + (int64_t)((double)(int64_t)(ticks - m->ticks0) * m->ns_per_tick);
}

#endif
