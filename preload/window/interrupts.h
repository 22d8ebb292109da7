/* SPDX-License-Identifier: BSD-3-Clause
 * Interrupts of the program's threads: by edges of other threads (interrupts.c), by requests of
 * `regtrace ctl` (control_requests.c) and by timers (timers.c). */
#ifndef REGTRACE_PRELOAD_WINDOW_INTERRUPTS_H
#define REGTRACE_PRELOAD_WINDOW_INTERRUPTS_H

#include "preload/thread.h"

#include <signal.h>

/* Sends the internal signal to one of our threads; `code` tells why. Returns false if the signal
 * was not sent because the thread has ended. */
enum interrupt_code {
    INTERRUPT_SYNC = 0x5254,
    INTERRUPT_REQUEST = 0x5255,
    INTERRUPT_TIMER = 0x5256,
    INTERRUPT_SAMPLE = 0x5257,
    INTERRUPT_SIGNAL = 0x5258, /* asks the main thread about a signal (signal_main.c) */
    INTERRUPT_CANCEL = 0x5259  /* cancellation is on again (probe_lock.c) */
};
bool process_interrupt_thread(uint32_t kernel_tid, enum interrupt_code code);
/* Was this internal signal sent so, with this code? */
static inline bool interrupt_has_code(const siginfo_t *info, enum interrupt_code code)
{
    return info->si_code == SI_QUEUE && info->si_value.sival_int >> 16 == (int)code;
}

/* Called by the handler of the internal signal. si_code and si_value tell timers, requests and
 * edges apart. */
void process_interrupted(siginfo_t *info, void *context);

/* Makes every other thread of the process look at the automaton again. */
void interrupt_other_threads(void *context);

/* --- control_requests.c ----------------------------------------------------------------------- */

/* Collects the interactive alarms, which `regtrace ctl` fires. */
void requests_prepare(const struct ctl_config *config);
/* regtrace_fire() for another thread: that thread fires the event when our signal reaches it. */
void requests_fire(uint32_t tid, enum ctl_event event, bool bcast, uintptr_t ip);
/* Notes the kernel id of a thread that begins before anything is recorded. kernel_tid 0: the thread
 * ends. */
void requests_early_thread(uint32_t tid, uint32_t kernel_tid);
/* Serves what `regtrace ctl` asked for. */
void trigger_requests(void);

/* --- timers.c --------------------------------------------------------------------------------- */

/* timers_armed() starts the timer of a chain's alarm, and timers_delete() ends it. */
uint64_t timers_armed(struct preload_thread *pt, const struct ctl_arming *arming, uint16_t chain);
void timers_delete(struct thread_timer *t);
/* The room of a thread for its timers. */
size_t timers_room(void);
void timers_thread_made(struct preload_thread *pt, void *room);
void timers_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
/* In a forked child: forgets the parent's timers, which do not exist here. */
void timers_forget(struct recorder_thread *t, struct preload_thread *pt);
/* A timeout is over; the code is its chain. */
void trigger_timers(int timer_code);

#endif
