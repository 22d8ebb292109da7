/* SPDX-License-Identifier: BSD-3-Clause
 * A thread's count and its next interrupt: the part that all back ends share.
 *
 * An exact target is approached: the back end interrupts a margin earlier, and the thread is
 * stepped through the rest. The margin is learned from the skids of all interrupts of the
 * process. */
#include "pmu/backend.h"

#include <stdatomic.h>

/* The margin is at least FIRST until KNOWN skids are known: few skids say little about the
 * largest. */
enum { KNOWN = 16, FIRST = 65536, LEAST = 1024 };

static _Atomic uint64_t largest_skid;
static _Atomic uint32_t skids;

static uint64_t margin(void)
{
    uint64_t twice = 2 * atomic_load_explicit(&largest_skid, memory_order_relaxed) + LEAST;
    if (atomic_load_explicit(&skids, memory_order_relaxed) >= KNOWN)
        return twice;
    return twice > FIRST ? twice : FIRST;
}

static void learn(uint64_t skid)
{
    uint64_t known = atomic_load_explicit(&largest_skid, memory_order_relaxed);
    while (skid > known && !atomic_compare_exchange_weak(&largest_skid, &known, skid))
        continue;
    (void)atomic_fetch_add_explicit(&skids, 1, memory_order_relaxed);
}

int pmu_thread_begin(struct pmu_thread *t, const struct pmu_backend *backend, int signo,
                     uint32_t kernel_tid)
{
    t->target = t->asked = PMU_NEVER;
    t->excluded = 0;
    t->exact = t->approaching = false;
    t->step = (struct pmu_step){.kernel_tid = kernel_tid, .wake = PMU_NEVER};
    int rc = backend->begin(t, signo, kernel_tid);
    t->backend = rc == 0 ? backend : NULL;
    return rc;
}

static void approach_end(struct pmu_thread *t)
{
    if (!t->approaching)
        return;
    t->approaching = false;
    t->step.wake = PMU_NEVER;
    if (t->backend->steps)
        return;
    (void)pmu_stop(t);
    t->step.on = false;
    t->excluded = t->backend->read(t) - t->step.count;
}

void pmu_thread_end(struct pmu_thread *t)
{
    if (t->backend == NULL)
        return;
    approach_end(t);
    t->backend->end(t);
    t->backend = NULL;
}

void pmu_thread_forked(struct pmu_thread *t, int signo, uint32_t kernel_tid)
{
    const struct pmu_backend *backend = t->backend;
    if (backend == NULL)
        return;
    uint64_t before = pmu_thread_count(t);
    bool exact = t->exact, handling = t->step.handling;
    uint64_t target = t->target;
    uintptr_t bound = t->step.bound;
    t->approaching = false;
    backend->end(t);
    if (pmu_thread_begin(t, backend, signo, kernel_tid) != 0)
        return;
    t->step.bound = bound;
    t->step.handling = handling;
    t->excluded = 0 - before; /* modulo 2^64: the count continues from `before` */
    pmu_thread_arm(t, target, exact);
}

uint64_t pmu_thread_count(const struct pmu_thread *t)
{
    if (t->backend == NULL)
        return PMU_NEVER;
    if (t->approaching && !t->backend->steps)
        return t->step.count;
    return t->backend->read(t) - t->excluded;
}

void pmu_thread_exclude(struct pmu_thread *t, uint64_t since)
{
    if (t->backend != NULL && !t->backend->steps && !t->approaching)
        t->excluded += pmu_thread_count(t) - since;
}

static void approach(struct pmu_thread *t, uint64_t now)
{
    t->backend->set(t, PMU_NEVER);
    t->asked = PMU_NEVER;
    t->approaching = true;
    if (!t->backend->steps) {
        t->step.on = true;
        t->step.count = now;
        t->step.wake = t->target;
        pmu_go(t);
    } else {
        t->step.wake = t->target + t->excluded;
    }
}

static void ask(struct pmu_thread *t, uint64_t at, uint64_t now)
{
    t->asked = at;
    t->backend->set(t, at == PMU_NEVER ? PMU_NEVER : at > now ? at - now : 1);
}

void pmu_thread_arm(struct pmu_thread *t, uint64_t target, bool exact)
{
    if (t->backend == NULL || (t->approaching && t->target == target && exact))
        return;
    approach_end(t);
    t->target = target;
    t->exact = exact && !t->backend->exact && target != PMU_NEVER;
    uint64_t now = pmu_thread_count(t);
    if (!t->exact || target <= now)
        ask(t, target, now);
    else if (target - now > margin())
        ask(t, target - margin(), now);
    else
        approach(t, now);
}

bool pmu_thread_overflowed(struct pmu_thread *t)
{
    uint64_t now = pmu_thread_count(t), target = t->target;
    if (!t->approaching && t->asked != PMU_NEVER && now >= t->asked)
        learn(now - t->asked);
    t->asked = PMU_NEVER;
    if (t->approaching)
        approach_end(t);
    else if (t->exact && now < target) {
        pmu_thread_arm(t, target, true);
        return false;
    }
    return true;
}

bool pmu_is_overflow(const struct pmu_thread *t, const siginfo_t *info)
{
    return t->backend != NULL && !t->backend->steps && info->si_code > 0 && info->si_fd == t->fd;
}

bool pmu_thread_is_due(const struct pmu_thread *t)
{
    return t->backend != NULL && t->backend->kernels && t->asked != PMU_NEVER &&
           pmu_thread_count(t) >= t->asked;
}
