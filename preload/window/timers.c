/* SPDX-License-Identifier: BSD-3-Clause
 * timeout alarms: a kernel timer for each armed alarm and thread, which signals that thread
 * only. */
#include "preload/count/counting.h"

#include "base/log.h"
#include "base/sys.h"

#include <string.h>
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

static void delete_timer(struct thread_timer *t)
{
    if (t->used)
        (void)sys_call6(SYS_timer_delete, t->id, 0, 0, 0, 0, 0);
    t->used = false;
}

static uint64_t timer_armed(struct preload_thread *pt, const struct ctl_arming *arming,
                            uint16_t chain)
{
    if (process.internal_signal == 0 || chain >= pt->timers.count)
        return CTL_UNKNOWN;
    struct thread_timer *t = &pt->timers.of_chain[chain];
    delete_timer(t);
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

uint64_t alarm_armed(void *context, uint32_t tid, const struct ctl_arming *arming)
{
    (void)context;
    (void)tid;
    const struct ctl_alarm *alarm = ctl_config_alarm(process.config, arming->alarm);
    struct preload_thread *pt = recorder_self.window_state;
    if (pt == NULL || alarm == NULL)
        return CTL_UNKNOWN;
    if (alarm->type == CTL_ICOUNT || alarm->type == CTL_UNIFORM)
        return counting_armed(pt, arming);
    return alarm->type == CTL_TIMEOUT ? timer_armed(pt, arming, alarm->chain) : CTL_UNKNOWN;
}

void alarm_disarmed(void *context, uint32_t tid, uint16_t alarm)
{
    (void)context;
    (void)tid;
    struct preload_thread *pt = recorder_self.window_state;
    if (pt == NULL)
        return;
    uint16_t chain = ctl_config_alarm(process.config, alarm)->chain;
    if (chain < pt->timers.count && pt->timers.of_chain[chain].alarm == alarm)
        delete_timer(&pt->timers.of_chain[chain]);
    if (pt->counting.waiting.count != 0)
        counting_disarmed(pt, alarm);
}

void timers_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    for (uint32_t i = 0; i < pt->timers.count; i++)
        delete_timer(&pt->timers.of_chain[i]);
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
    delete_timer(&pt->timers.of_chain[i]);
    sys_restore_signals(mask);
    struct ctl_moment m = moment_now(0);
    ctl_expire(pt->automaton, t.alarm, t.generation, &m);
    triggers_after_hit(pt);
}

/* Makes every other thread of the process look at the automaton again. */
void timers_sync_needed(void *context)
{
    (void)context;
    struct stream_header *h = recorder_stream.header;
    if (h == NULL || process.internal_signal == 0)
        return;
    uint32_t self = (uint32_t)sys_gettid();
    uint32_t n = atomic_load(&h->thread_count);
    for (uint32_t i = 0; i < n && i < h->thread_capacity; i++) {
        struct stream_thread *row = &stream_threads(&recorder_stream)[i];
        if (atomic_load(&row->state) == THREAD_LIVE && row->kernel_tid != self)
            (void)process_interrupt_thread(row->kernel_tid, INTERRUPT_SYNC);
    }
}

bool process_interrupt_thread(uint32_t kernel_tid, enum interrupt_code code)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = process.internal_signal;
    info.si_code = SI_QUEUE;
    info.si_pid = (pid_t)process.pid;
    info.si_uid = process.id.uid;
    info.si_value.sival_int = (int)code << 16;
    return sys_call6(SYS_rt_tgsigqueueinfo, process.pid, kernel_tid, process.internal_signal,
                     (long)&info, 0, 0) == 0;
}
