/* SPDX-License-Identifier: BSD-3-Clause
 * Ends a recording: closes the calling thread's window, reports alarms that never fired, and gives
 * the writer the time to close its file. */
#include "preload/count/totals.h"
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/interrupts.h"
#include "preload/window/windows.h"

#include "base/log.h"
#include "base/sys.h"
#include "mpi/mpi.h"

#include <errno.h>
#include <stdio.h>

static _Atomic uint32_t finish_state;

/* Returns the reason why an alarm that was armed until the end has not fired. */
static const char *unmatched(const struct ctl_alarm *alarm)
{
    switch (alarm->type) {
    case CTL_TIMEOUT: return "the program ended before that time had passed";
    case CTL_ICOUNT:
    case CTL_UNIFORM: return "the program ended before so many instructions";
    case CTL_INTERACTIVE: return "nobody asked by regtrace ctl";
    case CTL_SIGNAL: return "the signal did not come";
    case CTL_ENTER_FUNC:
        return probes_have_alarm(alarm->index) ? "the function is there, but nothing called it "
                                                 "while the alarm was armed; calls "
                                                 "may have been inlined"
                                               : "nothing matched it";
    case CTL_EXIT_FUNC:
        return probes_have_alarm(alarm->index)
                   ? "the function is there, but no call of it returned while the alarm was armed; "
                     "calls may have been inlined"
                   : "nothing matched it";
    default:
        return probes_have_alarm(alarm->index)
                   ? "the place is there, but was not executed while the alarm was armed"
                   : "nothing matched it";
    }
}

static void report_never_fired(void *context, const struct ctl_alarm *alarm, enum ctl_unfired why,
                               uint64_t reached)
{
    unsigned *n = context;
    char key[32], text[512];
    if (why == CTL_OTHER_RANK)
        return;
    (void)snprintf(key, sizeof key, "never_fired.%u", (*n)++);
    const char *reason = why == CTL_NEVER_ARMED
                             ? "it was never armed: what stands before it did not happen"
                         : why == CTL_COUNT_SHORT ? "its count was not reached"
                                                  : unmatched(alarm);
    (void)snprintf(text, sizeof text, "%u\t%.300s\t%s\t%llu\t%llu", alarm->index, alarm->text,
                   reason, (unsigned long long)reached, (unsigned long long)alarm->count);
    (void)stream_meta_put(&recorder_stream, key, text);
}

static void report_count(const char *name, uint64_t n)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    if (n != 0)
        (void)stream_meta_put(&recorder_stream, name, text);
}

/* Reports the completions of MPI requests that were not recorded for lack of memory, and the
 * messages that have no number. They are no events that a stream has lost. */
static void report_skipped(void)
{
    report_count("mpi_completions_skipped",
                 atomic_load_explicit(&mpi_completions_skipped, memory_order_relaxed));
    report_count("mpi_messages_unnumbered",
                 atomic_load_explicit(&mpi_messages_unnumbered, memory_order_relaxed));
}

static bool others_live(void)
{
    struct stream_header *h = recorder_stream.header;
    uint32_t n = atomic_load(&h->thread_count);
    for (uint32_t i = 0; i < n && i < h->thread_capacity; i++)
        if (i != recorder_self.index &&
            atomic_load(&stream_threads(&recorder_stream)[i].state) == THREAD_LIVE)
            return true;
    return false;
}

void process_thread_ends(void)
{
    if (process.traced && recorder_is_on() && others_live())
        thread_finish();
    else
        process_finish(RT_WINDOW_PROGRAM_END, true);
}

void process_finish(unsigned reason, bool wait)
{
    if (!process.traced || sys_getpid() != (pid_t)process.pid ||
        atomic_exchange(&finish_state, 1) != 0)
        return;
    int keep = errno;
    process.traced = false;
    if (atomic_load(&process_start_state) != START_DONE || !recorder_is_on()) {
        errno = keep;
        return;
    }
    struct recorder_thread *t = &recorder_self;
    t->in_toolkit++;
    struct preload_thread *pt = t->preload_thread;
    /* Note the count first: the rest of this function is not the program's. */
    windows_close_thread(t, reason, totals_note(t, pt));
    atomic_store(&recorder_stream.header->ended, clock_ticks());
    /* No parts_thread_ends(): what the parts hold goes with the process, and other threads may
     * still use it. Timers are ended, so that they interrupt no code that runs at exit. */
    if (pt != NULL)
        timers_thread_ends(t, pt);
    totals_finish();
    unsigned n = 0;
    ctl_never_fired(process.shared, report_never_fired, &n);
    report_skipped();
    recorder_thread_end(t);
    recorder_stop();
    atomic_fetch_add(&recorder_epoch, 1); /* other threads see that it is over */
    struct stream_header *h = recorder_stream.header;
    if (process_nothing_recorded())
        atomic_store(&h->state, STREAM_EMPTY);
    else
        atomic_store(&h->state, STREAM_FINISHED);
    recorder_wake_writer();
    struct sys_cancel cancel = sys_cancel_off();
    if (wait)
        process_wait_for_writer();
    log_take_shared(); /* lines of children that could not write to the log */
    t->in_toolkit--;
    sys_cancel_on(cancel);
    errno = keep;
}
