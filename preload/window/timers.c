/* SPDX-License-Identifier: BSD-3-Clause
 * timeout alarms: a kernel timer for each armed alarm and thread, which signals that thread
 * only. */
#include "preload/count/counting.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/interrupts.h"
#include "preload/window/triggers.h"

#include "base/log.h"
#include "base/sys.h"

#include <sys/syscall.h>
#include <time.h>

size_t timers_room(void)
{
    return ctl_config_uses(process.config, CTL_TIMEOUT)
               ? ctl_config_chain_count(process.config) * sizeof(struct thread_timer)
               : 0;
}

void timers_thread_made(struct preload_thread *pt, void *room)
{
    pt->timers.of_chain = room;
    pt->timers.count = (uint32_t)(timers_room() / sizeof *pt->timers.of_chain);
}

/* Logged once in a process: the alarm will not fire, and the user must know it. */
static void timer_failed(void)
{
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        log_line(LOG_ERROR,
                 "the kernel gives no timer for a timeout alarm (ulimit -i, RLIMIT_SIGPENDING)");
}

void timers_delete(struct thread_timer *t)
{
    if (t->used)
        (void)sys_call6(SYS_timer_delete, t->id, 0, 0, 0, 0, 0);
    t->used = false;
}

uint64_t timers_armed(struct preload_thread *pt, const struct ctl_arming *arming, uint16_t chain)
{
    if (process.internal_signal == 0 || chain >= pt->timers.count)
        return CTL_UNKNOWN;
    struct thread_timer *t = &pt->timers.of_chain[chain];
    timers_delete(t);
    *t = (struct thread_timer){.alarm = arming->alarm, .generation = arming->generation};
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(arming->distance / 1000000000u),
                                           .tv_nsec = (long)(arming->distance % 1000000000u)}};
    if (sys_thread_timer(CLOCK_MONOTONIC, process.internal_signal, INTERRUPT_TIMER << 16 | chain,
                         (uint32_t)sys_gettid(), &t->id) != 0) {
        timer_failed();
        return CTL_UNKNOWN;
    }
    t->used = true;
    (void)sys_call6(SYS_timer_settime, t->id, 0, (long)&when, 0, 0, 0);
    return CTL_UNKNOWN;
}

void timers_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    for (uint32_t i = 0; i < pt->timers.count; i++)
        timers_delete(&pt->timers.of_chain[i]);
}

void timers_forget(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    for (uint32_t i = 0; i < pt->timers.count; i++)
        pt->timers.of_chain[i].used = false;
}

void trigger_timers(int timer_code)
{
    /* In a forked child this may be the first thing to record. */
    struct preload_thread *pt = thread_self();
    uint32_t i = (uint32_t)timer_code & 0xffff;
    if (pt == NULL || i >= pt->timers.count || !pt->timers.of_chain[i].used ||
        pt->automaton == NULL)
        return;
    struct thread_timer t = pt->timers.of_chain[i];
    uint64_t mask = sys_block_signals();
    timers_delete(&pt->timers.of_chain[i]);
    sys_restore_signals(mask);
    struct ctl_moment m = moment_now(0);
    ctl_expire(pt->automaton, t.alarm, t.generation, &m);
    triggers_after_hit(pt);
}
