/* SPDX-License-Identifier: BSD-3-Clause
 * Which back end counts, and what is the same for all of them. */
#include "pmu/internal.h"

#include <errno.h>
#include <string.h>

int pmu_choose(const char *wanted, const struct pmu_backend **backend, struct rt_error *err)
{
    static const char *const later[] = {"papi", "step"};
    *backend = NULL;
    if (strcmp(wanted, "none") == 0)
        return 0;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(wanted, later[i]) == 0) {
            rt_error_set(err, "the counter back end '%s' is not built yet; perf is", wanted);
            return -ENOTSUP;
        }
    if (strcmp(wanted, "auto") != 0 && strcmp(wanted, "perf") != 0) {
        rt_error_set(err, "there is no counter back end '%s'; there are auto, perf and none",
                     wanted);
        return -EINVAL;
    }
    int rc = pmu_perf.probe(err);
    if (rc == 0)
        *backend = &pmu_perf;
    return rc;
}

int pmu_thread_begin(struct pmu_thread *t, const struct pmu_backend *backend, int signo,
                     uint32_t kernel_tid)
{
    t->target = PMU_NEVER;
    t->excluded = 0;
    int rc = backend->begin(t, signo, kernel_tid);
    t->backend = rc == 0 ? backend : NULL;
    return rc;
}

void pmu_thread_end(struct pmu_thread *t)
{
    if (t->backend != NULL)
        t->backend->end(t);
    t->backend = NULL;
}

void pmu_thread_forked(struct pmu_thread *t, int signo, uint32_t kernel_tid)
{
    const struct pmu_backend *backend = t->backend;
    if (backend == NULL)
        return;
    uint64_t before = pmu_thread_count(t), target = t->target;
    backend->end(t);
    if (pmu_thread_begin(t, backend, signo, kernel_tid) != 0)
        return;
    t->excluded = 0 - before; /* counts are differences: modulo 2^64 it goes on from there */
    pmu_thread_arm(t, target);
}

uint64_t pmu_thread_count(const struct pmu_thread *t)
{
    return t->backend != NULL ? t->backend->read(t) - t->excluded : PMU_NEVER;
}

void pmu_thread_exclude(struct pmu_thread *t, uint64_t since)
{
    if (t->backend != NULL)
        t->excluded += pmu_thread_count(t) - since;
}

void pmu_thread_arm(struct pmu_thread *t, uint64_t target)
{
    if (t->backend == NULL)
        return;
    t->target = target;
    uint64_t now = target == PMU_NEVER ? 0 : pmu_thread_count(t);
    uint64_t distance = target == PMU_NEVER ? PMU_NEVER : target > now ? target - now : 1;
    t->backend->set(t, distance);
}

bool pmu_is_overflow(const struct pmu_thread *t, const siginfo_t *info)
{
    return t->backend != NULL && info->si_code > 0 && info->si_fd == t->fd;
}
