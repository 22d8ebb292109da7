/* SPDX-License-Identifier: BSD-3-Clause
 * Callbacks of the automaton for alarms that a counter or a timer must watch: icount, uniform and
 * timeout. */
#include "preload/count/counting.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/control_events.h"
#include "preload/window/interrupts.h"

uint64_t alarm_armed(void *context, uint32_t tid, const struct ctl_arming *arming)
{
    (void)context;
    (void)tid;
    const struct ctl_alarm *alarm = ctl_config_alarm(process.config, arming->alarm);
    struct preload_thread *pt = recorder_self.preload_thread;
    if (pt == NULL || alarm == NULL)
        return CTL_UNKNOWN;
    if (alarm->type == CTL_ICOUNT || alarm->type == CTL_UNIFORM)
        return counting_armed(pt, arming);
    return alarm->type == CTL_TIMEOUT ? timers_armed(pt, arming, alarm->chain) : CTL_UNKNOWN;
}

void alarm_disarmed(void *context, uint32_t tid, uint16_t alarm)
{
    (void)context;
    (void)tid;
    struct preload_thread *pt = recorder_self.preload_thread;
    if (pt == NULL)
        return;
    uint16_t chain = ctl_config_alarm(process.config, alarm)->chain;
    if (chain < pt->timers.count && pt->timers.of_chain[chain].alarm == alarm)
        timers_delete(&pt->timers.of_chain[chain]);
    if (pt->counting.waiting.count != 0)
        counting_disarmed(pt, alarm);
}
