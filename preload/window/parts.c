/* SPDX-License-Identifier: BSD-3-Clause
 * The table of parts (parts.h), and the walks over it. */
#include "preload/window/parts.h"

#include "preload/affinity.h"
#include "preload/count/counter_records.h"
#include "preload/count/counting.h"
#include "preload/count/profile_part.h"
#include "preload/count/sampling.h"
#include "preload/count/totals.h"
#include "preload/images/image_records.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/thread.h"
#include "preload/values/values.h"
#include "preload/window/cuts.h"
#include "preload/window/interrupts.h"
#include "preload/window/marks.h"

#if defined(__x86_64__)
static bool wants_memory(void)
{
    return memory_is_traced;
}
#endif

/* Why this order, from the first to the last:
 * - counting, totals: a thread's total is read before its counter is closed. Counters of events
 *   share the processor with the counter of instructions, so they are chosen after it. Counting
 *   claims each trap of a process whose threads may be stepped, also at places that are patched.
 * - timers, profile, marks: no other part depends on them.
 * - affinity, images, cuts: these records describe the start of the window; readers of a window's
 *   other records need them first.
 * - sampling, values, counters: measure the program, so they start late and stop early. Values
 *   come before memory: a fault may end the step of a sample and then happen again in a copy.
 * - memory: sends the thread into instrumented copies. Nothing else of ours may run in a window
 *   after that.
 * - probes: patching takes milliseconds. It is the last preparation, so that it delays no other. */
static const struct part parts[] = {
    {.name = "counting",
     .prepare = counting_prepare,
     .wants_signal = counting_wants_signal,
     .trapped = counting_trapped,
     .thread_room = counting_room,
     .thread_made = counting_thread_made,
     .thread_ends = counting_thread_ends,
     .thread_forked = counting_forked,
     .hold = counting_hold},
    {.name = "totals", .thread_ends = totals_end},
    {.name = "timers",
     .thread_room = timers_room,
     .thread_made = timers_thread_made,
     .thread_ends = timers_thread_ends,
     .thread_forked = timers_forget},
    {.name = "profile",
     .prepare = profile_prepare,
     .images_gone = profile_forget,
     .thread_room = profile_room,
     .thread_made = profile_thread_made,
     .thread_ends = profile_thread_ends,
     .process_forked = profile_forget},
    {.name = "marks", .process_forked = marks_forked},
    {.name = "affinity", .window_opened = affinity_tell, .thread_forked = affinity_forked},
    {.name = "images", .window_opened = images_window_opened, .process_forked = images_forked},
    {.name = "cuts", .window_opened = cuts_enter, .window_closes = cuts_leave},
    {.name = "sampling",
     .prepare = sampling_prepare,
     .wants_all_threads = sampling_is_on,
     .window_prepare = sampling_ready,
     .window_opened = sampling_opened,
     .window_closes = sampling_closes,
     .window_closed = sampling_gap,
     .thread_ends = sampling_thread_ends,
     .thread_forked = sampling_forked,
     .hold = sampling_hold},
    {
        .name = "values",
        .prepare = values_prepare, /* refuses elsewhere */
#if defined(__x86_64__)
        .start = values_start,
        .wants_signal = values_wants_signal,
        .trapped = values_trapped,
        .faulted = values_faulted,
        .images_loaded = values_images_changed,
        .thread_ends = values_thread_ends,
        .process_forked = values_forked,
#endif
    },
    {.name = "counters",
     .prepare = counters_prepare,
     .wants_all_threads = counters_are_on,
     .window_prepare = counters_ready,
     .window_opened = counters_opened,
     .window_closes = counters_closes,
     .thread_ends = counters_thread_ends,
     .thread_forked = counters_thread_ends},
#if defined(__x86_64__)
    {.name = "memory",
     .wants_signal = memory_is_fault,
     .trapped = memory_stepped,
     .faulted = memory_faulted,
     .wants_all_threads = wants_memory,
     .window_opened = memory_opened,
     .window_closes = memory_closes,
     .thread_ends = memory_thread_ends,
     .process_forked = memory_forked},
#endif
    {.name = "probes",
     .prepare = probes_prepare,
     .wants_signal = probes_want_signal,
     .trapped = probes_trapped,
     .images_loaded = probes_images_loaded,
     .images_gone = probes_images_gone,
     .thread_room = probe_room_bytes,
     .thread_made = probe_room_begin,
     .window_prepare = probes_window_prepare,
     .window_closed = probes_window_closed,
     .process_forked = probes_forked},
};
enum { PARTS = sizeof parts / sizeof *parts };

int parts_prepare(struct rt_error *e)
{
    int rc = 0;
    for (unsigned i = 0; i < PARTS && rc == 0; i++)
        if (parts[i].prepare != NULL)
            rc = parts[i].prepare(e);
    return rc;
}

int parts_start(struct rt_error *e)
{
    int rc = 0;
    for (unsigned i = 0; i < PARTS && rc == 0; i++)
        if (parts[i].start != NULL)
            rc = parts[i].start(e);
    return rc;
}

bool parts_want_signal(int signo)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].wants_signal != NULL && parts[i].wants_signal(signo))
            return true;
    return false;
}

bool parts_trapped(int signo, siginfo_t *info, void *context)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].trapped != NULL && parts[i].trapped(signo, info, context))
            return true;
    return false;
}

bool parts_faulted(int signo, siginfo_t *info, void *context)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].faulted != NULL && parts[i].faulted(signo, info, context))
            return true;
    return false;
}

void parts_images_loaded(void)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].images_loaded != NULL)
            parts[i].images_loaded();
}

void parts_images_gone(void)
{
    for (unsigned i = PARTS; i-- > 0;)
        if (parts[i].images_gone != NULL)
            parts[i].images_gone();
}

size_t parts_thread_room(void)
{
    size_t room = 0;
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].thread_room != NULL)
            room += parts[i].thread_room();
    return room;
}

void parts_thread_made(struct preload_thread *pt, void *room)
{
    char *at = room;
    for (unsigned i = 0; i < PARTS; i++) {
        if (parts[i].thread_made != NULL)
            parts[i].thread_made(pt, at);
        if (parts[i].thread_room != NULL)
            at += parts[i].thread_room();
    }
}

bool parts_want_all_threads(void)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].wants_all_threads != NULL && parts[i].wants_all_threads())
            return true;
    return false;
}

void parts_window_prepare(struct recorder_thread *t, struct preload_thread *pt)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].window_prepare != NULL)
            parts[i].window_prepare(t, pt);
}

void parts_window_opened(struct recorder_thread *t, struct preload_thread *pt)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].window_opened != NULL)
            parts[i].window_opened(t, pt);
}

void parts_window_closes(struct recorder_thread *t, struct preload_thread *pt)
{
    for (unsigned i = PARTS; i-- > 0;)
        if (parts[i].window_closes != NULL)
            parts[i].window_closes(t, pt);
}

void parts_window_closed(struct recorder_thread *t, struct preload_thread *pt)
{
    for (unsigned i = PARTS; i-- > 0;)
        if (parts[i].window_closed != NULL)
            parts[i].window_closed(t, pt);
}

void parts_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    for (unsigned i = PARTS; i-- > 0;)
        if (parts[i].thread_ends != NULL)
            parts[i].thread_ends(t, pt);
}

void parts_forked(struct recorder_thread *t, struct preload_thread *pt)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].process_forked != NULL)
            parts[i].process_forked();
    for (unsigned i = 0; i < PARTS && pt != NULL; i++)
        if (parts[i].thread_forked != NULL)
            parts[i].thread_forked(t, pt);
}

void parts_hold(struct preload_thread *pt, bool held)
{
    for (unsigned i = 0; i < PARTS; i++)
        if (parts[i].hold != NULL)
            parts[i].hold(pt, held);
}
