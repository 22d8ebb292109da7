/* SPDX-License-Identifier: BSD-3-Clause
 * icount and uniform alarms: the counts that each thread waits for. Its counter interrupts it at
 * the nearest.
 *
 * An alarm fires when its count is reached or passed, never before. A counter may interrupt early,
 * because our own instructions are subtracted afterwards, but not from the counter's distance. Then
 * it is armed again. */
#include "preload/count/counting.h"
#include "preload/count/counter_records.h"

#include "base/log.h"
#include "base/sys.h"
#include "mpi/mpi.h"
#include "preload/count/sampling.h"
#include "preload/count/totals.h"
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/interrupts.h"
#include "preload/window/triggers.h"

/* For a count that all threads share: instructions between two reports of a thread, at the end. */
#define QUANTUM_LEAST 64u
#define QUANTUM_MOST_AT_END 5000u

static void counting_failed(const char *why)
{
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        log_line(LOG_ERROR, why);
}

void counting_begin(struct preload_thread *pt, struct recorder_thread *t)
{
    struct counting *c = &pt->counting;
    if (process.pmu == NULL || process.internal_signal == 0)
        return;
    if (pmu_thread_begin(&c->counter, process.pmu, process.internal_signal,
                         t->row != NULL ? t->row->kernel_tid : (uint32_t)sys_gettid()) != 0)
        counting_failed("a thread has no counter of instructions: its icount alarms cannot fire "
                        "(out of file descriptors?)");
    if (c->counter.backend != NULL)
        t->counted |= RECORDER_COUNTED_INSTRUCTIONS;
}

uint64_t counting_now(const struct preload_thread *pt)
{
    return pt == NULL ? CTL_UNKNOWN : pmu_thread_count(&pt->counting.counter);
}

uint64_t counting_known(const struct preload_thread *pt)
{
    if (pt == NULL || pt->counting.late)
        return CTL_UNKNOWN;
    return pt->counting.own ? pt->counting.own_since : counting_now(pt);
}

static void arm_nearest(struct counting *c)
{
    const struct deadline *first = deadlines_first(&c->waiting);
    bool waits = first != NULL && !c->held;
    pmu_thread_arm(&c->counter, waits ? first->at : PMU_NEVER,
                   waits && deadlines_first_is_exact(&c->waiting));
}

/* Arms the counter for the nearest deadline, unless it is armed for that count already. Arming is a
 * system call, and most changes concern later deadlines, which leave the nearest one as it is. A
 * counter that stops exactly is armed anew in any case. */
static void arm_if_changed(struct counting *c)
{
    const struct deadline *first = deadlines_first(&c->waiting);
    if (first == NULL || c->held || first->at != c->counter.target || first->exact ||
        c->counter.exact)
        arm_nearest(c);
}

/* Subtracts everything since the count `since`, which was ours. */
static void exclude_since(struct counting *c, uint64_t since)
{
    pmu_thread_exclude(&c->counter, since);
    arm_nearest(c);
}

void counting_started(struct preload_thread *pt)
{
    if (pt->counting.counter.backend != NULL)
        exclude_since(&pt->counting, 0);
}

static uint64_t read_count(const void *counter)
{
    return pmu_thread_count(counter);
}

void counting_measure_own(void)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    /* A thread that is attached later is not measured: nothing is started for that alone. */
    if (pt == NULL || pt->automaton == NULL || pt->counting.counter.backend == NULL ||
        pt->counting.counter.backend->steps)
        return;
    uint64_t mask = sys_block_signals();
    uint64_t since = counting_now(pt);
    uint32_t recording = t->recording;
    (void)recorder_active(t);
    sampling_hold(pt, true);
    t->recording = 0; /* measures what calls cost outside windows */
    mpi_measure_own(read_count, &pt->counting.counter);
    t->recording = recording;
    sampling_hold(pt, false);
    counters_again(t, pt);
    exclude_since(&pt->counting, since);
    sys_restore_signals(mask);
}

/* Returns how many instructions this thread executes before it reports again: min(left, distance /
 * 8) / 2 / threads. A stepped thread waits long for a processor and reports cheaply, so for it the
 * 8 is 128. The result is at least distance / 256 / threads, within QUANTUM_LEAST and
 * QUANTUM_MOST_AT_END, but never more than `left`. So near the end of the distance less than 1 % of
 * it is unreported, even if a thread has no processor and cannot report. */
static uint64_t quantum(uint64_t left, uint16_t alarm)
{
    uint64_t distance = ctl_config_alarm(process.config, alarm)->distance;
    uint64_t threads =
        atomic_load_explicit(&recorder_stream.header->thread_count, memory_order_relaxed);
    threads = threads != 0 ? threads : 1;
    uint64_t most = distance / (process.pmu->steps ? 128 : 8);
    uint64_t share = (left < most ? left : most) / (2 * threads);
    uint64_t least = distance / (256 * threads);
    least = least > QUANTUM_MOST_AT_END ? QUANTUM_MOST_AT_END : least;
    least = least < QUANTUM_LEAST ? QUANTUM_LEAST : least;
    least = least > left ? left : least;
    return share < least ? least : share;
}

/* Returns true if the last report, of `told` instructions, took what is left below an eighth, a
 * 16th, a 32nd or a 64th of the distance. Then all threads must report: the shares that they took
 * when more was left, or when there were fewer threads, are too large now. */
static bool all_are_to_report(uint64_t left, uint64_t told, uint16_t alarm)
{
    uint64_t distance = ctl_config_alarm(process.config, alarm)->distance;
    for (uint64_t part = 8; part <= 64; part *= 2)
        if (left < distance / part && left + told >= distance / part)
            return true;
    return false;
}

size_t counting_room(void)
{
    return process.pmu != NULL ? deadlines_size(ctl_config_chain_count(process.config)) : 0;
}

void counting_thread_made(struct preload_thread *pt, void *room)
{
    if (process.pmu != NULL)
        deadlines_init(&pt->counting.waiting, room, ctl_config_chain_count(process.config));
}

static uint64_t add(uint64_t base, uint64_t distance)
{
    uint64_t sum;
    /* The sum is out of range: no thread gets that far. PMU_NEVER would disarm the counter, so this
     * is the count below it. */
    return __builtin_add_overflow(base, distance, &sum) || sum == PMU_NEVER ? PMU_NEVER - 1 : sum;
}

uint64_t counting_armed(struct preload_thread *pt, const struct ctl_arming *arming)
{
    struct counting *c = &pt->counting;
    const struct ctl_alarm *alarm = ctl_config_alarm(process.config, arming->alarm);
    if (c->counter.backend == NULL || alarm == NULL || alarm->chain >= c->waiting.room)
        return CTL_UNKNOWN;
    uint64_t base = arming->base, now = 0;
    if (base == CTL_UNKNOWN || arming->global)
        now = counting_now(pt);
    if (base == CTL_UNKNOWN)
        base = now;
    c->armings++;
    deadlines_put(&c->waiting,
                  &(struct deadline){
                      .at = arming->global ? now + quantum(arming->distance, arming->alarm)
                                           : add(base, arming->distance),
                      .reported = now,
                      .alarm = arming->alarm,
                      .chain = alarm->chain,
                      .global = arming->global,
                      .exact = alarm->exact,
                      .closes = arming->closes,
                      .generation = arming->generation,
                  });
    /* The nearest deadline may be at the same count, but not exact: arm the counter anyway. */
    if (alarm->exact)
        arm_nearest(c);
    else
        arm_if_changed(c);
    return base;
}

void counting_disarmed(struct preload_thread *pt, uint16_t alarm)
{
    struct counting *c = &pt->counting;
    uint16_t chain = ctl_config_alarm(process.config, alarm)->chain;
    const struct deadline *d = deadlines_of(&c->waiting, chain);
    if (d == NULL || d->alarm != alarm)
        return;
    (void)deadlines_take(&c->waiting, chain, NULL);
    if (c->counter.backend != NULL)
        arm_if_changed(c);
}

static void advance(struct preload_thread *pt, struct deadline d, const struct ctl_moment *m)
{
    struct counting *c = &pt->counting;
    uint32_t before = c->armings;
    uint64_t told = m->icount - d.reported, left = ctl_advance(pt->automaton, d.alarm, told, m);
    if (left == 0 || c->armings != before)
        return; /* it fired, or another was armed: counting_armed() knows what to wait for */
    d.reported = m->icount;
    d.at = m->icount + quantum(left, d.alarm);
    deadlines_put(&c->waiting, &d);
    if (all_are_to_report(left, told, d.alarm))
        interrupt_other_threads(NULL);
}

/* Are the threads' totals wanted? They are shown beside windows that stand for the whole run: those
 * of regions, of uniform alarms, and of repeated chains. */
static bool totals_are_wanted(void)
{
    static _Atomic uint32_t known; /* 1: no, 2: yes */
    uint32_t k = atomic_load_explicit(&known, memory_order_relaxed);
    if (k != 0)
        return k == 2;
    bool wanted =
        process.options.number[OPT_count] != 0 || ctl_config_uses(process.config, CTL_UNIFORM);
    for (unsigned i = 0; i < ctl_config_chain_count(process.config); i++) {
        const struct ctl_chain *c = ctl_config_chain(process.config, i);
        wanted = wanted || c->repeat != 1 || c->label[0] != '\0' || c->region[0] != '\0';
    }
    atomic_store_explicit(&known, wanted ? 2 : 1, memory_order_relaxed);
    return wanted;
}

void counting_retire(struct preload_thread *pt)
{
    struct recorder_thread *t = &recorder_self;
    struct counting *c = &pt->counting;
    /* Without chains, only named calls open and close windows, and more may come. */
    if (c->counter.backend == NULL || c->waiting.count != 0 || t->recording != 0 ||
        pt->automaton == NULL || ctl_config_chain_count(process.config) == 0 ||
        totals_are_wanted() || c->counter.step.blocked || !ctl_thread_is_over(pt->automaton))
        return;
    uint64_t mask = sys_block_signals();
    totals_retire(t, pt);
    pmu_thread_end(&c->counter);
    c->own = false;
    t->counted &= ~RECORDER_COUNTED_INSTRUCTIONS;
    sys_restore_signals(mask);
    /* Stepped threads that compute do not see that a broadcast edge was the last: interrupts them,
     * once. */
    static _Atomic bool told;
    if (process.pmu->steps && !atomic_exchange(&told, true))
        interrupt_other_threads(NULL);
}

void counting_report(struct preload_thread *pt, const struct ctl_moment *m)
{
    struct counting *c = &pt->counting;
    bool any = false;
    if (c->counter.backend == NULL || c->held || c->waiting.globals == 0)
        return;
    uint64_t mask = sys_block_signals();
    for (uint32_t chain = 0; chain < c->waiting.room && c->waiting.globals != 0; chain++) {
        const struct deadline *waiting = deadlines_of(&c->waiting, (uint16_t)chain);
        struct deadline d;
        if (waiting == NULL || !waiting->global || waiting->reported >= m->icount ||
            !deadlines_take(&c->waiting, (uint16_t)chain, &d))
            continue;
        advance(pt, d, m);
        any = true;
    }
    sys_restore_signals(mask);
    if (any) {
        triggers_after_hit(pt);
        arm_nearest(c);
    }
}

void counting_overflow(struct preload_thread *pt, uintptr_t ip)
{
    struct counting *c = &pt->counting;
    uint64_t now = counting_now(pt);
    if (!pmu_thread_overflowed(&c->counter)) {
        pmu_thread_exclude(&c->counter, now);
        return;
    }
    struct ctl_moment m = {.icount = now, .clock = clock_ticks(), .ip = ip};
    if (thread_self() != pt) /* a forked child's first event makes its stream */
        return;
    uint64_t mask = sys_block_signals();
    const struct deadline *first;
    while ((first = deadlines_first(&c->waiting)) != NULL && first->at <= now &&
           pt->automaton != NULL) {
        struct deadline d = *first;
        (void)deadlines_take(&c->waiting, d.chain, NULL);
        if (d.global)
            advance(pt, d, &m);
        else
            ctl_expire(pt->automaton, d.alarm, d.generation, &m);
    }
    sys_restore_signals(mask);
    triggers_after_hit(pt);
    exclude_since(c, now);
}

void counting_unqueued(struct preload_thread *pt, const siginfo_t *info, const void *context)
{
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        log_line(LOG_WARNING, "the user's queue of signals is full (ulimit -i): counters interrupt "
                              "by SIGIO; where the program blocks that, edges are late and "
                              "samples are missing");
    if (pmu_thread_is_due(&pt->counting.counter)) {
        if (pt->automaton != NULL)
            counting_overflow(pt, signals_ip_of(context));
    } else {
        sampling_unqueued(pt, info, context);
        /* The counter may have overflowed early, if instructions of ours were subtracted since it
         * was armed. Unless it is armed again, its next signal comes a whole period later. */
        if (pt->counting.counter.backend != NULL)
            arm_nearest(&pt->counting);
    }
}

void counting_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    pmu_thread_end(&pt->counting.counter);
    t->counted = 0;
}

void counting_hold(struct preload_thread *pt, bool held)
{
    if (pt == NULL || pt->counting.counter.backend == NULL)
        return;
    pt->counting.held = held;
    arm_nearest(&pt->counting);
}

void counting_forked(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    struct counting *c = &pt->counting;
    deadlines_clear(&c->waiting); /* the automaton arms them anew */
    if (c->counter.backend != NULL)
        pmu_thread_forked(&c->counter, process.internal_signal, (uint32_t)sys_gettid());
}

bool counting_is_overflow(const siginfo_t *info)
{
    const struct preload_thread *pt = recorder_self.preload_thread;
    return pt != NULL && pmu_is_overflow(&pt->counting.counter, info);
}
