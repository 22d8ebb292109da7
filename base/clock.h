/* SPDX-License-Identifier: BSD-3-Clause
 * The clock of records: raw ticks, cheap to read, and calibration points that turn them into time. */
#ifndef REGTRACE_BASE_CLOCK_H
#define REGTRACE_BASE_CLOCK_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What clock_ticks() reads. x86-64: the time stamp counter where it is invariant; aarch64: CNTVCT_EL0;
 * else CLOCK_MONOTONIC in ns. Decided once by clock_init(). */
enum clock_source { CLOCK_SOURCE_TSC = 0, CLOCK_SOURCE_CNTVCT = 1, CLOCK_SOURCE_MONOTONIC = 2 };

extern enum clock_source clock_source RT_HIDDEN; /* read-only after clock_init() */

/* Choose the source (CPUID leaf 0x80000007, bit 8; REGTRACE_CLOCK=monotonic forces the fallback). */
void clock_init(bool force_monotonic);

static inline uint64_t clock_monotonic_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Is a counter of the processor the clock? */
static inline bool clock_is_counter(void)
{
    return clock_source != CLOCK_SOURCE_MONOTONIC;
}

/* That counter: only where clock_is_counter(). */
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

/* One reading of all clocks at (nearly) one moment: the reading with the shortest distance of several. */
struct clock_point {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint64_t uncertainty; /* ticks between the reads that enclose the point */
};

/* Async-signal-safe; about 1 µs. */
struct clock_point clock_calibrate(void);

/* Ticks to CLOCK_MONOTONIC ns by two points (first and last of a run); exact at both, linear between
 * and beyond. If the points are closer than 1 ms the nominal rate (0: 1 tick = 1 ns) is used. */
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
