/* SPDX-License-Identifier: BSD-3-Clause
 * Instruction counts of threads: what icount and uniform alarms wait for. On the thread concerned. */
#ifndef REGTRACE_PRELOAD_COUNTING_H
#define REGTRACE_PRELOAD_COUNTING_H

#include "preload/internal.h"

/* Begin to count; nothing where no counter was chosen. counting_started(): what was executed since then was ours. */
void counting_begin(struct preload_thread *pt, struct recorder_thread *t);
void counting_started(struct preload_thread *pt);

/* CTL_UNKNOWN where the thread is not counted. */
uint64_t counting_now(const struct preload_thread *pt);

/* Callbacks of the automaton for icount and uniform alarms. */
uint64_t counting_armed(struct preload_thread *pt, const struct ctl_arming *arming);
void counting_disarmed(struct preload_thread *pt, uint16_t alarm);

/* The counter has interrupted the thread at ip. */
bool counting_is_overflow(const siginfo_t *info);
void counting_overflow(struct preload_thread *pt, uintptr_t ip);

/* No interrupt while it is held (inside MPI_Init); what became due fires afterwards. */
void counting_hold(struct preload_thread *pt, bool held);

/* In the child of fork, before the automaton arms again what was armed. */
void counting_forked(struct preload_thread *pt);

#endif
