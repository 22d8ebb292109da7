/* SPDX-License-Identifier: BSD-3-Clause
 * Measures what samples take of a thread's processor time. On a busy machine the thread may lose
 * the processor within a sample: that time is not the sample's. */
#include "preload/count/pace.h"

#include "base/clock.h"
#include "base/sys.h"

#include <sys/syscall.h>
#include <time.h>

#define SIGNAL_NS 3000u /* kernel time of a signal and its interrupt, about */
/* pace_end() reads the clocks by system calls. It does so when LOOK_LATE ticks have passed since
 * the last reading, or when LOOK_TICKS have passed and there were LOOK_SAMPLES samples, or
 * LOOK_TICKS ticks within samples. */
#define LOOK_SAMPLES 16u
#define LOOK_TICKS (UINT64_C(1) << 21) /* 1 ms or less */
#define LOOK_LATE (UINT64_C(1) << 26)  /* some 20 ms */
#define LONG_SAMPLES 4u /* a sample this many times as long as usual may have lost the processor */

static struct pace_time now(void)
{
    struct timespec cpu = {0};
    (void)sys_call6(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&cpu, 0, 0, 0, 0);
    return (struct pace_time){.ticks = clock_ticks(),
                              .ns = clock_monotonic_ns(),
                              .cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec};
}

/* Estimates how much of `outside`, the thread's time outside our handler, the kernel spent on the
 * interrupts and signals of samples. For a clock that is twice the time beyond samples * period,
 * since as much again lies within the periods. It is SIGNAL_NS a sample at least, and PMU_SHORT_NS
 * at most: a period that ends in a system call yields no sample and would look like kernel time.
 * Periods below PMU_SHORT_NS have no limit, because interrupts may take all of the thread's
 * time. */
static uint64_t in_kernel(const struct pmu_sampler *s, uint64_t samples, uint64_t outside)
{
    uint64_t asked = s->spec->is_clock ? samples * s->spec->period * s->factor : outside;
    uint64_t more = outside > asked ? 2 * (outside - asked) : 0;
    if (s->spec->period * s->factor >= PMU_SHORT_NS && more > samples * PMU_SHORT_NS)
        more = samples * PMU_SHORT_NS;
    return more > samples * SIGNAL_NS ? more : samples * SIGNAL_NS;
}

void pace_begin(struct pace *p)
{
    p->began = clock_ticks();
}

void pace_exclude(struct pace *p, uint64_t ticks)
{
    p->began += ticks;
}

uint32_t pace_weight(const struct pace *p, const struct pmu_sampler *s, uint32_t weight)
{
    if (s->factor == 1 || !s->spec->is_clock || p->ns_per_tick == 0)
        return weight;
    uint64_t most = ((p->began - p->ended) >> 8) * p->ns_per_tick / s->spec->period >> 8;
    return most < weight ? (uint32_t)most + 1 : weight;
}

/* Returns true if it is time to read the clocks. Signals that have queued up arrive all at once, so
 * many samples alone are no reason: LOOK_TICKS must have passed. */
static bool is_to_look(const struct pace *p, uint64_t ticks)
{
    bool many = p->samples >= LOOK_SAMPLES || p->spent >= LOOK_TICKS;
    return ticks >= LOOK_LATE || (many && ticks >= LOOK_TICKS);
}

/* Adds the ticks of a sample to `spent`, and to `usually_spent` at most LONG_SAMPLES times the
 * usual length: the thread has probably lost the processor during a longer sample. */
static void add_sample(struct pace *p, uint64_t took)
{
    uint64_t most = LONG_SAMPLES * p->usual;
    p->spent += took;
    if (most != 0 && took > most)
        took = most;
    p->usual = p->usual == 0 ? took : p->usual - p->usual / 8 + took / 8;
    p->usually_spent += took;
    p->samples++;
}

static uint64_t ns_of(const struct pace *p, uint64_t ticks)
{
    return (ticks >> 8) * p->ns_per_tick >> 8;
}

/* Returns the processor time that samples took between two looks. The thread did not run for
 * `away` ns, within samples or outside. */
static uint64_t spent_ns(const struct pace *p, uint64_t away)
{
    uint64_t all = ns_of(p, p->spent), usually = ns_of(p, p->usually_spent);
    uint64_t least = all > away ? all - away : 0;
    return least > usually ? least : usually;
}

void pace_end(struct pace *p, struct pmu_sampler *s)
{
    p->ended = clock_ticks();
    add_sample(p, p->ended - p->began);
    if (p->looked.ns != 0 && !is_to_look(p, p->ended - p->looked.ticks))
        return;
    struct pace_time then = p->looked;
    p->looked = now();
    if (then.ns != 0) {
        uint64_t ns = p->looked.ns - then.ns, cpu = p->looked.cpu_ns - then.cpu_ns;
        p->ns_per_tick = (ns << 16) / (p->looked.ticks - then.ticks + 1);
        uint64_t spent = spent_ns(p, ns > cpu ? ns - cpu : 0);
        uint64_t outside = cpu > spent ? cpu - spent : 0;
        uint64_t kernel = in_kernel(s, p->samples, outside);
        pmu_sampler_pace(s, spent + kernel, outside > kernel ? outside - kernel : 0);
    }
    p->samples = 0;
    p->spent = p->usually_spent = 0;
}
