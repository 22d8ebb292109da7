/* SPDX-License-Identifier: BSD-3-Clause
 * Back ends that count by stepping alone. `step` is exact. `late` is for tests: its interrupts come
 * late by a seeded skid, as those of a processor do, so that `exact` can be tested without one. */
#include "pmu/backend.h"

#include "base/sys.h"

#include <errno.h>

static struct {
    uint64_t seed, maximum;
} late;

static int probe(struct rt_error *err)
{
#if defined(__x86_64__)
    (void)err;
    return 0;
#else
    rt_error_set(err, "there is no counting by steps on this processor: it needs the trap flag of "
                      "x86-64");
    return -ENOTSUP;
#endif
}

static int begin(struct pmu_thread *t, int signo, uint32_t kernel_tid)
{
    (void)signo;
    t->step = (struct pmu_step){.on = true, .kernel_tid = kernel_tid, .wake = PMU_NEVER};
    t->seed = late.seed * 2654435761u + 1;
    return 0;
}

static void end(struct pmu_thread *t)
{
    (void)pmu_stop(t);
    t->step.on = false;
}

static uint64_t read_count(const struct pmu_thread *t)
{
    return t->step.count;
}

static void set(struct pmu_thread *t, uint64_t distance)
{
    t->step.wake = distance == PMU_NEVER ? PMU_NEVER : t->step.count + distance;
}

/* xorshift64: the same seed gives the same skids. */
static void set_late(struct pmu_thread *t, uint64_t distance)
{
    set(t, distance);
    if (distance == PMU_NEVER)
        return;
    t->seed ^= t->seed << 13;
    t->seed ^= t->seed >> 7;
    t->seed ^= t->seed << 17;
    t->step.wake += (t->seed >> 11) % (late.maximum + 1);
}

void pmu_late_prepare(uint64_t seed, uint64_t maximum)
{
    late.seed = seed;
    late.maximum = maximum;
}

const struct pmu_backend pmu_step = {.name = "step",
                                     .steps = true,
                                     .exact = true,
                                     .probe = probe,
                                     .begin = begin,
                                     .end = end,
                                     .read = read_count,
                                     .set = set};

const struct pmu_backend pmu_late = {.name = "late",
                                     .steps = true,
                                     .probe = probe,
                                     .begin = begin,
                                     .end = end,
                                     .read = read_count,
                                     .set = set_late};
