/* SPDX-License-Identifier: BSD-3-Clause
 * Instruction counts of threads: what icount and uniform alarms wait for. On the thread concerned. */
#ifndef REGTRACE_PRELOAD_COUNT_COUNTING_H
#define REGTRACE_PRELOAD_COUNT_COUNTING_H

#include "preload/internal.h"
#include "preload/libc/waits.h"

/* Bytes that a thread needs for the counts it will wait for: zeroed, aligned to 8, for deadlines_init(). */
size_t counting_room(void);

/* Begin to count; nothing where no counter was chosen. counting_started(): what was executed since then was ours. */
void counting_begin(struct preload_thread *pt, struct recorder_thread *t);
void counting_started(struct preload_thread *pt);

/* Where nothing can ask for this thread's count any more it is not counted, or stepped, any longer: the rest of the program
 * runs at its own speed, and its total is not known. */
void counting_retire(struct preload_thread *pt);

/* What alarms count by; CTL_UNKNOWN where the thread is not counted, or no longer. */
uint64_t counting_now(const struct preload_thread *pt);
/* What is recorded: CTL_UNKNOWN also where it has not been counted from its beginning. It stands still while our code runs, which a
 * counter counts first and takes out afterwards. */
uint64_t counting_known(const struct preload_thread *pt);

/* Callbacks of the automaton for icount and uniform alarms. */
uint64_t counting_armed(struct preload_thread *pt, const struct ctl_arming *arming);
void counting_disarmed(struct preload_thread *pt, uint16_t alarm);

/* The counter has interrupted the thread at ip; so has stepping, where it reached the count. */
bool counting_is_overflow(const siginfo_t *info);
void counting_overflow(struct preload_thread *pt, uintptr_t ip);

/* SIGIO has come: the kernel sends it in place of a counter's signal where the user's queue of signals is full, and does not say
 * for which counter. Where an interrupt of this thread's is due, it is taken for that. */
void counting_unqueued(struct preload_thread *pt, const siginfo_t *info, const void *context);

/* What this thread has done towards counts that all threads share, before its next report is due. */
void counting_report(struct preload_thread *pt, const struct ctl_moment *m);

/* No interrupt while it is held (inside MPI_Init); what became due fires afterwards. */
void counting_hold(struct preload_thread *pt, bool held);

/* In the child of fork, before the automaton arms again what was armed. */
void counting_forked(struct preload_thread *pt);

/* --- stepped threads: stepping.c. Each does nothing on a thread that is not stepped. */

/* Before any thread is. */
void counting_prepare(void);

/* The program has come to us by a call; from begin to end our code, and what it calls, runs at full speed and is not counted.
 * Without them it is not counted either, but stepped; by a counter that does not step it is counted. They may be nested:
 * begin returns what its end is to be given. `counter`: what such a counter counts between them is taken out, at the price of two
 * readings. */
unsigned counting_own_begin_if(bool counter);
void counting_own_end(unsigned own);

static inline unsigned counting_own_begin(void)
{
    return counting_own_begin_if(true);
}

/* The same in functions of RECORDER_ENTRY. */
static inline unsigned counting_own_enter(void)
{
    return RT_UNLIKELY(recorder_self.counted != 0) ? counting_own_begin_if(true) : 0;
}
static inline void counting_own_leave(unsigned own)
{
    if (RT_UNLIKELY(own != 0))
        counting_own_end(own);
}

/* Before main: how many instructions of ours calls of MPI cost outside windows, by a counter that counts them. */
void counting_measure_own(void);
/* So many instructions that are about to be executed are ours. Nothing on threads that are stepped. */
void counting_exclude(uint32_t instructions);

/* We call the program's code, and have come back. */
struct pmu_inside counting_program_begin(void);
void counting_program_end(struct pmu_inside inside);

/* Around a handler of ours. end: it returns next; all signals are blocked from here on. */
struct pmu_inside counting_handler_begin(void *context);
void counting_handler_end(void *context, struct pmu_inside inside);

/* The handler of SIGTRAP: see signals_trap_action(). */
void counting_trapped(int signo, siginfo_t *info, void *context);

/* The handler of all other signals: its entry, which the kernel calls, and its body, to which the
 * entry jumps. signals.c */
void signals_handler(int signo, siginfo_t *info, void *context);
void signals_arrived(int signo, siginfo_t *info, void *context, struct signals_seen seen);

#endif
