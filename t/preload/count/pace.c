/* SPDX-License-Identifier: BSD-3-Clause
 * Tests what preload/count/pace.c takes for the processor time of samples: on a busy machine a
 * thread loses the processor within samples, here it sleeps in them. */
#include "preload/count/pace.h"
#include "t/tap.h"

#include <time.h>

enum { SAMPLES = 400, SLEEPS = 8, SLEEP_MS = 10, SIGNAL_NS = 3000 };

static uint64_t spent;
static unsigned looks;

/* Stands in for the sampler's: notes what would decide how long its period is. */
void pmu_sampler_pace(struct pmu_sampler *s, uint64_t samples, uint64_t program)
{
    (void)s, (void)program;
    spent += samples;
    looks++;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work(void)
{
    uint64_t until = cpu_ns() + 20000;
    while (cpu_ns() < until)
        continue;
}

/* Takes samples of 20 us, 20 us apart. In one of eight the thread sleeps. Returns the processor
 * time within them. */
static uint64_t take_samples(bool sleeps)
{
    const struct pmu_sample_spec spec = {.period = 1000000000, .is_clock = true};
    const struct timespec pause = {.tv_nsec = SLEEP_MS * 1000000};
    struct pmu_sampler sampler = {.spec = &spec, .factor = 1};
    struct pace pace = {.samples = 0};
    uint64_t within = 0;
    spent = looks = 0;
    for (int i = 0; i < SAMPLES; i++) {
        work();
        pace_begin(&pace);
        uint64_t began = cpu_ns();
        work();
        if (sleeps && i % SLEEPS == SLEEPS / 2)
            nanosleep(&pause, NULL);
        within += cpu_ns() - began;
        pace_end(&pace, &sampler);
    }
    diag("%" PRIu64 " us within samples, taken for %" PRIu64 " us, %u looks", within / 1000,
         spent / 1000, looks);
    return within;
}

int main(void)
{
    plan(4);
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        const char *name = sleeps ? "a thread that sleeps in samples" : "a thread that works";
        uint64_t within = take_samples(sleeps), signals = (uint64_t)SAMPLES * SIGNAL_NS;
        ok(looks > 0 && spent > within / 4, "%s: samples take time", name);
        ok(spent < 3 * within + signals, "%s: no more than they execute", name);
    }
    return done_testing();
}
