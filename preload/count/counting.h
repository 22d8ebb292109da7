/* SPDX-License-Identifier: BSD-3-Clause
 * Instruction counts of threads, for which icount and uniform alarms wait. Called on the thread
 * concerned. */
#ifndef REGTRACE_PRELOAD_COUNT_COUNTING_H
#define REGTRACE_PRELOAD_COUNT_COUNTING_H

#include "preload/thread.h"
#include "preload/waits/waits.h"

/* The constructor sets these. Threads may be stepped by the trap flag: SIGTRAP is ours. Kernel
 * counters interrupt threads: SIGIO may be ours. */
extern bool threads_are_stepped, counters_interrupt;

/* Checks the options that ask for counts, once the chains are read: chooses the counter
 * (process.pmu), and says whether threads are stepped. Called in the constructor. Returns 0, or
 * -errno with the text. */
RT_MUST_CHECK int counting_prepare(struct rt_error *e);
/* Says what this machine can count, for the reader of the chains, which chooses the counter. */
const struct ctl_machine *counting_machine(void);
/* SIGTRAP if threads are stepped, and the SIGIO of the kernel's counters. */
bool counting_wants_signal(int signo);

/* The room of a thread for the counts that it waits for. */
size_t counting_room(void);
void counting_thread_made(struct preload_thread *pt, void *room);

/* counting_begin() begins to count, if a counter was chosen. counting_started(): what was executed
 * since then was ours. */
void counting_begin(struct preload_thread *pt, struct recorder_thread *t);
void counting_started(struct preload_thread *pt);

/* Stops counting or stepping the thread if nothing can ask for its count any more. The rest of the
 * program runs at its own speed, and the thread's total is unknown. */
void counting_retire(struct preload_thread *pt);

/* Returns the count that alarms use; CTL_UNKNOWN if the thread is not counted, or not any
 * longer. */
uint64_t counting_now(const struct preload_thread *pt);
/* Returns the count that is recorded; CTL_UNKNOWN also if the thread has not been counted from its
 * beginning. It stands still while our code runs: a counter counts that first, and it is subtracted
 * afterwards. */
uint64_t counting_known(const struct preload_thread *pt);

/* Callbacks of the automaton for icount and uniform alarms. */
uint64_t counting_armed(struct preload_thread *pt, const struct ctl_arming *arming);
void counting_disarmed(struct preload_thread *pt, uint16_t alarm);

/* Is this a signal of the thread's counter? counting_overflow(): the counter has interrupted the
 * thread at `ip`, or stepping has reached the count. */
bool counting_is_overflow(const siginfo_t *info);
void counting_overflow(struct preload_thread *pt, uintptr_t ip);

/* Handles SIGIO: the kernel sends it in place of a counter's signal if the user's queue of signals
 * is full, and does not say for which counter. If an interrupt of this thread's counter is due,
 * this is taken for it. */
void counting_unqueued(struct preload_thread *pt, const siginfo_t *info, const void *context);

/* Reports what this thread has executed towards counts that all threads share, before its next
 * report is due. */
void counting_report(struct preload_thread *pt, const struct ctl_moment *m);

/* Holds interrupts back (inside MPI_Init); what became due fires afterwards. */
void counting_hold(struct preload_thread *pt, bool held);

/* Called in the child of fork, before the automaton arms its alarms again. */
/* Closes the thread's counter. */
void counting_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
void counting_forked(struct recorder_thread *t, struct preload_thread *pt);

/* --- our own code, and stepped threads: stepping.c -------------------------------------------- */

/* Called before any thread is stepped. */
void counting_steps_begin(void);

/* Brackets for code of ours that the program calls. The library does not count what runs between
 * them: it does not step the thread there, and with `counter` it subtracts the readings of a kernel
 * counter at both ends. Without brackets a stepped thread steps through our code, uncounted but
 * slowly, and a kernel counter counts our code. They nest: pass the result of begin to end. */
unsigned counting_own_begin_if(bool counter);
void counting_own_end(unsigned own);

static inline unsigned counting_own_begin(void)
{
    return counting_own_begin_if(true);
}

/* The same, in functions of RECORDER_ENTRY. */
static inline unsigned counting_own_enter(void)
{
    return RT_UNLIKELY(recorder_self.counted != 0) ? counting_own_begin_if(true) : 0;
}
static inline void counting_own_leave(unsigned own)
{
    if (RT_UNLIKELY(own != 0))
        counting_own_end(own);
}

/* Measures before main how many instructions of ours a call of MPI costs outside windows, by a
 * counter that counts them. */
void counting_measure_own(void);
/* This many instructions that are about to be executed are ours. Does nothing on stepped
 * threads. */
void counting_exclude(uint32_t instructions);

/* Enclose our calls of the program's code. */
struct pmu_inside counting_program_begin(void);
void counting_program_end(struct pmu_inside inside);

/* Enclose a handler of ours. After counting_handler_end() the handler returns, with all signals
 * blocked. */
struct pmu_inside counting_handler_begin(void *context);
void counting_handler_end(void *context, struct pmu_inside inside);

/* Claims each SIGTRAP of a stepped process. */
bool counting_trapped(int signo, siginfo_t *info, void *context);

/* The handler of all other signals: its entry, which the kernel calls, and its body, to which the
 * entry jumps. preload/waits/waits_x86_64.S, preload/libc/signals.c */
void signals_handler(int signo, siginfo_t *info, void *context);
void signals_arrived(int signo, siginfo_t *info, void *context, struct signals_seen seen);

#endif
