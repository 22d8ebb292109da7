/* SPDX-License-Identifier: BSD-3-Clause
 * Samples: an event with the instruction pointer each time the thread's sampler interrupts it, and
 * its callers by frame pointers if they are wanted. Values (preload/values/values.h) have their own
 * sampler, by the same rules. */
#include "preload/memory/memory.h"
#include "base/format/event_fields.h"
#include "preload/count/sampling.h"
#include "preload/memory/memory_copies.h"

#include "base/log.h"
#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/images/image_records.h"
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/stack/call_walk.h"
#include "preload/thread.h"
#include "preload/values/values.h"
#include "preload/window/interrupts.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

/* largest distance from one frame to the next: beyond it there is no frame */
#define FURTHEST_FRAME ((uintptr_t)1 << 24)

static struct pmu_sample_spec spec;

/* Set once the samples of a thread took too much of its time: the samplers of later threads then
 * begin with pmu_sampler_careful(). Otherwise signals of events queue, up to a limit that all
 * processes of the user share. */
static _Atomic bool overloaded[SAMPLE_KINDS];

static const struct pmu_sample_spec *spec_of(enum sample_kind kind)
{
    return kind == SAMPLE_VALUES ? values_spec() : &spec;
}

bool sampling_is_on(void)
{
    return spec.period != 0 || values_are_on();
}

const struct pmu_sample_spec *sampling_spec(void)
{
    return &spec;
}

int sampling_prepare(struct rt_error *e)
{
    int rc = pmu_wanted_sample(&process.options, process_is_one_window(), &spec, e);
    counters_interrupt |= spec.period != 0 && !spec.by_time;
    return rc;
}

static void make_sampler(struct preload_thread *pt, enum sample_kind kind, uint32_t kernel_tid)
{
    static _Atomic bool said;
    struct pmu_sampler *s = &pt->sampling.samplers[kind].sampler;
    if (s->made)
        return;
    if (pmu_sampler_begin(s, spec_of(kind), process.internal_signal,
                          INTERRUPT_SAMPLE << 16 | (int)kind, kernel_tid) == 0) {
        if (atomic_load_explicit(&overloaded[kind], memory_order_relaxed))
            pmu_sampler_careful(s);
    } else if (!atomic_exchange(&said, true))
        log_line(LOG_ERROR, "a thread cannot be sampled: the kernel gives it no timer or counter "
                            "(ulimit -i, ulimit -n)");
}

static bool is_wanted(enum sample_kind kind, bool in_window)
{
    const struct pmu_sample_spec *s = spec_of(kind);
    return s->period != 0 && (in_window ? s->in_windows : s->in_gaps);
}

bool sampling_in_gaps(void)
{
    return is_wanted(SAMPLE_PLACES, false) || is_wanted(SAMPLE_VALUES, false);
}

static void run(struct thread_sampler *s, bool on)
{
    if (on == s->runs || !s->sampler.made)
        return;
    pace_restart(&s->pace);
    pmu_sampler_run(&s->sampler, on);
    s->runs = on;
}

/* Starts or halts the samplers: from here on the thread is in a window, or in none. */
static void settle(struct preload_thread *pt, bool in_window, uint32_t kernel_tid)
{
    for (enum sample_kind k = 0; k < SAMPLE_KINDS; k++) {
        bool on = is_wanted(k, in_window) && !pt->sampling.held && process.internal_signal != 0;
        if (on)
            make_sampler(pt, k, kernel_tid);
        run(&pt->sampling.samplers[k], on);
    }
}

void sampling_ready(struct recorder_thread *t, struct preload_thread *pt)
{
    for (enum sample_kind k = 0; k < SAMPLE_KINDS; k++)
        if (spec_of(k)->period != 0 && process.internal_signal != 0 && t->row != NULL)
            make_sampler(pt, k, t->row->kernel_tid);
}

void sampling_opened(struct recorder_thread *t, struct preload_thread *pt)
{
    if (t->row != NULL)
        settle(pt, true, t->row->kernel_tid);
}

void sampling_closes(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    for (enum sample_kind k = 0; k < SAMPLE_KINDS; k++)
        if (!is_wanted(k, false))
            run(&pt->sampling.samplers[k], false);
}

/* A thread may have begun in a window. Threads that MPI makes are not sampled in gaps. */
void sampling_gap(struct recorder_thread *t, struct preload_thread *pt)
{
    if (t->row != NULL && !t->recording && !ctl_is_helper(t->tid))
        settle(pt, false, t->row->kernel_tid);
}

void sampling_hold(struct preload_thread *pt, bool held)
{
    if (pt == NULL)
        return;
    pt->sampling.held = held;
    for (enum sample_kind k = 0; k < SAMPLE_KINDS; k++)
        run(&pt->sampling.samplers[k], !held && is_wanted(k, recorder_self.recording != 0));
}

void sampling_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    for (enum sample_kind k = 0; k < SAMPLE_KINDS; k++)
        pmu_sampler_end(&pt->sampling.samplers[k].sampler);
}

void sampling_forked(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    for (enum sample_kind k = 0; k < SAMPLE_KINDS; k++) {
        pmu_sampler_forked(&pt->sampling.samplers[k].sampler);
        pt->sampling.samplers[k].runs = false;
    }
}

void sampling_resume(struct preload_thread *pt, bool in_window)
{
    settle(pt, in_window, (uint32_t)sys_gettid());
}

static bool is_of(enum sample_kind kind, const struct pmu_sampler *s, const siginfo_t *info)
{
    if (!s->made)
        return false;
    if (s->spec->by_time)
        return info->si_code == SI_TIMER &&
               info->si_value.sival_int == (INTERRUPT_SAMPLE << 16 | (int)kind);
    return pmu_sampler_is_overflow(s, info);
}

/* Returns which sampler sent the signal; SAMPLE_KINDS: none. */
static enum sample_kind kind_of(const struct preload_thread *pt, const siginfo_t *info)
{
    enum sample_kind k = 0;
    while (k < SAMPLE_KINDS && (pt == NULL || !is_of(k, &pt->sampling.samplers[k].sampler, info)))
        k++;
    return k;
}

bool sampling_is_due(const siginfo_t *info)
{
    return kind_of(recorder_self.preload_thread, info) != SAMPLE_KINDS;
}

/* --- callers ---------------------------------------------------------------------------------- */

/* Reads two words of the stack: for a frame, the caller's frame and the return address. Asks the
 * kernel once for each page. */
static bool read_words(uintptr_t frame, uintptr_t out[2], uintptr_t *readable)
{
    if ((frame & (sizeof frame - 1)) != 0 || frame == 0)
        return false;
    if (*readable == frame / TEXT_PAGE && frame % TEXT_PAGE <= TEXT_PAGE - 2 * sizeof frame) {
        memcpy(out, (const void *)frame,
               2 * sizeof frame); /* NOLINT: an address of the program's */
        return true;
    }
    if (sys_read_self(frame, out, 2 * sizeof frame) != (long)(2 * sizeof frame))
        return false;
    *readable = frame / TEXT_PAGE;
    return true;
}

/* The first entry is the return address of a function that has made no frame. Whether this function
 * has made one is found out when the samples are read, by its unwind table. Compilers leave frames
 * out of functions that call nothing. */
static uint32_t walk(const ucontext_t *uc, uintptr_t *callers, uint32_t most)
{
    uintptr_t words[2], readable = 0;
    uint32_t n = 0;
#if defined(__x86_64__)
    uintptr_t frame = (uintptr_t)uc->uc_mcontext.gregs[REG_RBP];
    uintptr_t stack = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
    if (!read_words(stack, words, &readable))
        return 0;
    callers[n++] = words[0];
#else
    uintptr_t frame = (uintptr_t)uc->uc_mcontext.regs[29], stack = (uintptr_t)uc->uc_mcontext.sp;
    callers[n++] = (uintptr_t)uc->uc_mcontext.regs[30];
#endif
    /* Frames lie above the stack pointer, each above the one before. A register that holds
     * something else ends the walk. */
    for (uintptr_t below = stack; n <= most && frame >= below && frame - below < FURTHEST_FRAME;) {
        if (!read_words(frame, words, &readable) || words[1] < TEXT_PAGE)
            break;
        callers[n++] = words[1];
        below = frame + sizeof words;
        frame = words[0];
    }
    return n;
}

static void record_place(struct recorder_thread *t, uint32_t weight, const void *context)
{
    uint32_t depth = (uint32_t)process.options.number[OPT_callpath];
    if (depth > 1) {
        uint32_t path = call_path_from_context(context, depth - 1);
        (void)recorder_emit(t, EV_SAMPLE | (uint32_t)EVENT_FLAG_PATH << 24, signals_ip_of(context),
                            EVENT_PUT(EV_SAMPLE, periods, weight) |
                                EVENT_PUT(EV_SAMPLE, path, path));
        return;
    }
    uintptr_t callers[OPTION_SAMPLE_DEPTH_MAX + 2];
    uint32_t most = (uint32_t)process.options.number[OPT_sample_depth];
    uint32_t n = most != 0 ? walk(context, callers, most) : 0;
    callers[n] = 0;
    (void)recorder_emit(t, EV_SAMPLE, signals_ip_of(context),
                        EVENT_PUT(EV_SAMPLE, periods, weight) | EVENT_PUT(EV_SAMPLE, callers, n));
    for (uint32_t i = 0; i < n; i += 2)
        (void)recorder_emit(t, EV_SAMPLE_CALLERS, memory_copy_stands_for(callers[i]),
                            memory_copy_stands_for(callers[i + 1]));
}

static void again(struct preload_thread *pt, enum sample_kind kind)
{
    struct thread_sampler *s = &pt->sampling.samplers[kind];
    if (!s->runs)
        return;
    pace_end(&s->pace, &s->sampler);
    if (s->sampler.careful && !atomic_load_explicit(&overloaded[kind], memory_order_relaxed))
        atomic_store_explicit(&overloaded[kind], true, memory_order_relaxed);
    pmu_sampler_again(&s->sampler);
}

void sampling_values_end(struct preload_thread *pt)
{
    again(pt, SAMPLE_VALUES);
}

void sampling_values_waited(uint64_t ticks)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    pace_exclude(&pt->sampling.samplers[SAMPLE_VALUES].pace, ticks);
}

void sampling_values_halt(struct preload_thread *pt)
{
    pmu_sampler_halt(&pt->sampling.samplers[SAMPLE_VALUES].sampler);
}

/* Takes a sample. Returns true if it goes on after the handler: then sampling_values_end() will
 * follow. */
static bool hit(struct preload_thread *pt, enum sample_kind kind, const siginfo_t *info,
                const void *context)
{
    struct recorder_thread *t = &recorder_self;
    struct pmu_sampler *s = &pt->sampling.samplers[kind].sampler;
    pmu_sampler_overflowed(s);
    pace_begin(&pt->sampling.samplers[kind].pace);
    bool in_window = recorder_active(t) != 0;
    if (!is_wanted(kind, in_window))
        return false;
    if (!in_window)
        images_record(t);
    uint32_t weight =
        pace_weight(&pt->sampling.samplers[kind].pace, s, pmu_sampler_weight(s, info));
    pmu_sampler_vary(s);
    if (kind == SAMPLE_VALUES)
        return values_hit(pt, context, weight);
    record_place(t, weight, context);
    return false;
}

void sampling_hit(struct preload_thread *pt, const siginfo_t *info, const void *context)
{
    /* In a forked child this may be the first thing to record. */
    if (context == NULL || (!recorder_is_on() && thread_self() == NULL))
        return;
    enum sample_kind kind = kind_of(pt, info);
    if (kind != SAMPLE_KINDS && !hit(pt, kind, info, context))
        again(pt, kind);
}

void sampling_unqueued(struct preload_thread *pt, const siginfo_t *info, const void *context)
{
    if (!recorder_is_on() && thread_self() == NULL)
        return;
    for (enum sample_kind k = 0; k < SAMPLE_KINDS; k++)
        if (pt->sampling.samplers[k].runs && !spec_of(k)->by_time) {
            pmu_sampler_careful(
                &pt->sampling.samplers[k].sampler); /* this one signal may stand for many */
            if (!hit(pt, k, info, context))
                again(pt, k);
        }
}
