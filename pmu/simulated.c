/* SPDX-License-Identifier: BSD-3-Clause
 * A counter that tests move by hand, at any scale and as late as they like. */
#include "pmu/pmu.h"

static int probe(struct rt_error *err)
{
    (void)err;
    return 0;
}

static int begin(struct pmu_thread *t, int signo, uint32_t kernel_tid)
{
    (void)signo, (void)kernel_tid;
    t->simulated = 0;
    t->simulated_at = PMU_NEVER;
    return 0;
}

static void end(struct pmu_thread *t)
{
    t->simulated_at = PMU_NEVER;
}

static uint64_t read_count(const struct pmu_thread *t)
{
    return t->simulated;
}

static void set(struct pmu_thread *t, uint64_t distance)
{
    t->simulated_at = distance == PMU_NEVER ? PMU_NEVER : t->simulated + distance;
}

const struct pmu_backend pmu_simulated = {.kind = PMU_SIMULATED,
                                          .name = "simulated",
                                          .probe = probe,
                                          .begin = begin,
                                          .end = end,
                                          .read = read_count,
                                          .set = set};

void pmu_simulate(struct pmu_thread *t, uint64_t n, uint64_t late,
                  void (*overflow)(struct pmu_thread *t))
{
    uint64_t last = t->simulated + n;
    while (t->simulated_at != PMU_NEVER && t->simulated_at + late <= last) {
        uint64_t at = t->simulated_at + late;
        t->simulated = at > t->simulated ? at : t->simulated;
        t->simulated_at = PMU_NEVER;
        overflow(t);
    }
    if (last > t->simulated)
        t->simulated = last;
}
