/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses the source of ticks and calibrates it against the kernel's clocks. */
#include "base/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum clock_source clock_source = CLOCK_SOURCE_MONOTONIC;

void clock_init(bool force_monotonic)
{
    clock_source = CLOCK_SOURCE_MONOTONIC;
    if (force_monotonic)
        return;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)))
        clock_source = CLOCK_SOURCE_TSC;
#elif defined(__aarch64__)
    clock_source = CLOCK_SOURCE_CNTVCT;
#endif
}

static uint64_t realtime_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct clock_point clock_calibrate(void)
{
    struct clock_point best = {.uncertainty = UINT64_MAX};
    for (int i = 0; i < 8; i++) {
        uint64_t t0 = clock_ticks();
        uint64_t mono = clock_monotonic_ns();
        uint64_t t1 = clock_ticks();
        uint64_t real = realtime_ns();
        if (t1 - t0 < best.uncertainty)
            best = (struct clock_point){t0 + (t1 - t0) / 2, mono, real, t1 - t0};
    }
    return best;
}

struct clock_map clock_map_make(const struct clock_point *first, const struct clock_point *last,
                                double nominal_ns_per_tick)
{
    struct clock_map m = {first->ticks, first->monotonic_ns, nominal_ns_per_tick};
    if (last->monotonic_ns > first->monotonic_ns + 1000000u && last->ticks > first->ticks)
        m.ns_per_tick = (double)(last->monotonic_ns - first->monotonic_ns) /
                        (double)(last->ticks - first->ticks);
    else if (nominal_ns_per_tick <= 0.0)
        m.ns_per_tick = 1.0;
    return m;
}
