/* SPDX-License-Identifier: BSD-3-Clause
 * Attaches threads to the recording when they begin or first record, counts them before that, and
 * detaches them when they end. */
#include "preload/count/counting.h"
#include "preload/count/sampling.h"
#include "preload/count/totals.h"
#include "preload/life.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/stack/own_stack.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"
#include "preload/window/interrupts.h"
#include "preload/window/marks.h"
#include "preload/window/parts.h"
#include "preload/window/triggers.h"
#include "preload/window/windows.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct ctl_moment moment_now(uintptr_t ip)
{
    return (struct ctl_moment){
        .icount = counting_now(recorder_self.preload_thread), .clock = clock_ticks(), .ip = ip};
}

/* Allocates the thread's state, and counts its instructions from here on if a counter was chosen.
 * Returns NULL without memory. */
static struct preload_thread *make_counter(struct recorder_thread *t)
{
    size_t head =
        (sizeof(struct preload_thread) + CTL_ALIGNMENT - 1) / CTL_ALIGNMENT * CTL_ALIGNMENT;
    size_t size = ctl_thread_size(process.config);
    size_t bytes = head + size + parts_thread_room();
    long p = sys_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p < 0 && p > -4096)
        return NULL;
    struct preload_thread *pt = (struct preload_thread *)p; /* NOLINT: the kernel's address */
    pt->bytes = bytes;
    pt->automaton_memory = (char *)pt + head;
    t->preload_thread = pt;
    parts_thread_made(pt, (char *)pt + head + size);
    counting_begin(pt, t);
    return pt;
}

/* Makes the thread's automaton, and its state unless that exists. at_begin: the program has not
 * executed anything on this thread yet. Otherwise a thread that is not counted yet is counted too
 * late. */
static struct preload_thread *make_thread(struct recorder_thread *t, bool at_begin)
{
    struct preload_thread *pt = t->preload_thread;
    bool counted = pt != NULL;
    if (!counted && (pt = make_counter(t)) == NULL)
        return NULL;
    pt->counting.late = !counted && !at_begin;
    struct ctl_moment m = moment_now(0);
    if (m.icount != CTL_UNKNOWN)
        m.icount = counted ? counting_known(pt) : 0;
    /* Callbacks of the automaton find the thread through recorder_self.preload_thread. */
    pt->automaton = ctl_thread_init(process.shared, pt->automaton_memory, t->tid, &m);
    t->automaton = pt->automaton;
    probes_wake();
    triggers_count_armed(pt);
    if (!counted)
        counting_started(pt);
    totals_begin(t, pt);
    counting_retire(pt);
    sampling_gap(t, pt);
    return pt;
}

struct preload_thread *thread_count_from_here(void)
{
    struct recorder_thread *t = &recorder_self;
    bool asked = strcmp(process.options.text[OPT_pmu], "auto") != 0;
    if (process.pmu == NULL || process.internal_signal == 0 || t->preload_thread != NULL ||
        t->attachment != RECORDER_UNATTACHED || (process_is_idle() && !asked) ||
        atomic_load(&process_start_state) == START_OVER)
        return NULL;
    uint64_t mask = sys_block_signals();
    struct preload_thread *pt = make_counter(t);
    if (pt != NULL)
        counting_started(pt);
    sys_restore_signals(mask);
    return pt;
}

void thread_count_ends(void)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    if (t->attachment != RECORDER_UNATTACHED || pt == NULL || pt->automaton != NULL)
        return;
    uint64_t mask = sys_block_signals();
    counting_thread_ends(t, pt);
    t->preload_thread = NULL;
    probe_room_end();
    sys_restore_signals(mask);
    own_stack_unmap(pt->wait_stack);
    (void)sys_call6(SYS_munmap, (long)pt, (long)pt->bytes, 0, 0, 0, 0);
}

/* A child of a raw system call has come to its first event. Returns false if nothing can be
 * recorded here. */
RT_COLD static bool follow_unseen_fork(const struct recorder_thread *t)
{
    if (!process.traced || t->in_toolkit)
        return false;
    process_fork_unseen();
    return process.traced;
}

static void attach_here(void *p)
{
    struct recorder_thread *t = p;
    struct preload_thread *pt = t->preload_thread;
    if (t->attachment == RECORDER_UNATTACHED && recorder_thread_attach(t, false)) {
        if (pt == NULL || pt->automaton == NULL)
            pt = make_thread(t, !process.activated && (uint32_t)sys_gettid() == process.pid);
        else {
            process_adopt_regions(pt);
            windows_after_fork(t, pt); /* the thread that forked, now in the child */
            totals_begin(t, pt);
            probes_wake();
            triggers_count_armed(pt); /* in the row of its new stream */
        }
        mpi_glue_tell(t);
        marks_tell_all(t);
        threads_watch_end();
    }
    if (t->attachment != RECORDER_UNATTACHED)
        probes_thread_known();
}

static struct preload_thread *attach(struct recorder_thread *t)
{
    uint64_t mask = sys_block_signals();
    run_with_room(NULL, attach_here, t);
    sys_restore_signals(mask);
    return recorder_is_attached(t) ? t->preload_thread : NULL;
}

struct preload_thread *thread_self(void)
{
    struct recorder_thread *t = &recorder_self;
    if (RT_UNLIKELY(recorder_was_forked()) && !follow_unseen_fork(t))
        return NULL;
    if (RT_LIKELY(t->preload_thread != NULL && recorder_is_attached(t)))
        return t->preload_thread;
    if (t->attachment == RECORDER_DETACHED || t->in_toolkit || process_is_idle_now())
        return NULL;
    int keep = errno;
    bool counted = t->preload_thread != NULL;
    unsigned own = counting_own_begin();
    struct preload_thread *pt = process_ensure_started() ? attach(t) : NULL;
    counting_own_end(own);
    if (!counted && pt != NULL)
        pmu_go(&pt->counting.counter);
    errno = keep;
    return pt;
}

void thread_begin(uintptr_t start_routine, const char *start_image, bool helper)
{
    struct recorder_thread *t = &recorder_self;
    if (!process.traced || t->attachment != RECORDER_UNATTACHED)
        return;
    if (helper)
        probes_thread_known();
    if (!recorder_is_on()) {
        if (t->claimed != 0)
            requests_early_thread(t->claimed - 1, (uint32_t)sys_gettid());
        (void)thread_count_from_here();
        if (atomic_load(&process_start_state) == START_UNTRIED)
            probes_wake(); /* in a forked child its chains may begin the recording */
        return;
    }
    uint64_t mask = sys_block_signals();
    if (recorder_thread_attach(t, helper)) {
        if (t->row != NULL) {
            t->row->start_routine = start_routine;
            t->row->start_image = stream_string_id(&recorder_stream, start_image);
        }
        (void)make_thread(t, true);
    }
    probes_thread_known(); /* also if the thread does not record */
    sys_restore_signals(mask);
    (void)recorder_active(t);
}

void thread_finish(void)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    probes_thread_gone();
    if (t->claimed != 0)
        requests_early_thread(t->claimed - 1, 0);
    if (!recorder_is_attached(t) || pt == NULL) {
        memory_thread_ends(t, pt);
        thread_count_ends();
        return;
    }
    (void)recorder_active(t);
    windows_close_thread(t, RT_WINDOW_THREAD_END, totals_note(t, pt));
    uint64_t mask = sys_block_signals();
    parts_thread_ends(t, pt);
    if (pt->automaton != NULL) {
        ctl_thread_exit(pt->automaton);
        triggers_count_armed(NULL);
    }
    t->automaton = NULL;
    t->preload_thread = NULL;
    probe_room_end();
    recorder_thread_end(t);
    sys_restore_signals(mask);
    own_stack_unmap(pt->wait_stack);
    (void)sys_call6(SYS_munmap, (long)pt, (long)pt->bytes, 0, 0, 0, 0);
}

void thread_named(const char *name)
{
    struct recorder_thread *t = &recorder_self;
    if (recorder_is_attached(t) && t->row != NULL && recorder_is_on())
        t->row->name = stream_string_id(&recorder_stream, name);
}
