/* SPDX-License-Identifier: BSD-3-Clause
 * Events of the control language: the callbacks of the automaton (control_events.c, arming.c),
 * edges without a chain, and the log of fired events (controller_log.c). */
#ifndef REGTRACE_PRELOAD_WINDOW_CONTROL_EVENTS_H
#define REGTRACE_PRELOAD_WINDOW_CONTROL_EVENTS_H

#include "preload/thread.h"

/* Callbacks of the automaton. */
void control_alarm_fired(void *context, const struct ctl_fired *fired);
uint64_t alarm_armed(void *context, uint32_t tid, const struct ctl_arming *arming);
void alarm_disarmed(void *context, uint32_t tid, uint16_t alarm);

/* Starts or stops a window for a call of our header or of a preset, as a fired alarm without a
 * chain would. */
void control_edge(struct recorder_thread *t, bool open, bool bcast, uintptr_t ip);
/* Does the same for any event of the control language; event is an enum ctl_event. */
void control_event(struct recorder_thread *t, unsigned event, bool bcast, uintptr_t ip);

/* Would a start (stop) of this thread, or with bcast of all threads, open (close) a window? */
bool control_would_change(struct recorder_thread *t, bool open, bool bcast);

/* controller_log_fired() writes a line for each fired event to REGTRACE_CONTROLLER_LOG. The
 * constructor calls controller_log_prepare(), which checks whether that is possible. It returns 0,
 * or -errno with the reason. */
RT_MUST_CHECK int controller_log_prepare(struct rt_error *e);
void controller_log_fired(const struct ctl_fired *fired, bool ignored);

#endif
