/* SPDX-License-Identifier: BSD-3-Clause
 * Follows fork of a traced process: a forked child records into its own files. */
#include "preload/affinity.h"
#include "preload/count/sampling.h"
#include "preload/libc/signals.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/stack/own_stack.h"
#include "preload/thread.h"
#include "preload/window/parts.h"
#include "preload/window/triggers.h"
#include "preload/window/windows.h"

#include "base/sys.h"
#include "mpi/mpi.h"

#include <sys/mman.h>
#include <unistd.h>

static __thread uint64_t fork_mask; /* one for each thread: threads may fork at the same time */

/* In a forked child until it has its own stream: the parent's stream, for reading only. It has the
 * names of the regions that were open at the fork. */
static struct stream parents = {.fd = -1};

/* Takes the parent's stream away from the child, so that our code cannot write into it. Keeps it
 * readable if regions are open. */
static void leave_parents_stream(const struct preload_thread *pt)
{
    /* If the parent had no stream either, keep the stream of its ancestor. */
    if (recorder_stream.base == NULL)
        return;
    recorder_no_paths();
    stream_close(&parents);
    if (pt == NULL || pt->regions.depth == 0 ||
        mprotect(recorder_stream.base, recorder_stream.bytes, PROT_READ) != 0) {
        stream_close(&recorder_stream);
        return;
    }
    parents = recorder_stream;
    recorder_stream = (struct stream){.fd = -1};
}

void process_adopt_regions(struct preload_thread *pt)
{
    enum { FIRST_NAME = 2 }; /* lower ids: no name, and the name in a full table */
    for (uint32_t i = 0; parents.base != NULL && i < pt->regions.depth && i < THREAD_REGION_DEPTH;
         i++) {
        const char *name = stream_string_text(&parents, pt->regions.ids[i]);
        if (pt->regions.ids[i] >= FIRST_NAME)
            pt->regions.ids[i] = stream_string_id(&recorder_stream, name != NULL ? name : "?");
    }
    stream_close(&parents);
}

void process_before_fork(void)
{
    if (process.traced && process.shared != NULL)
        /* Does not take the automaton's lock, which could deadlock: fork waits for malloc's lock,
         * whose holder may wait for the automaton's lock, because our signal interrupted that
         * thread inside malloc. The child drops the lock, whichever thread held it. */
        fork_mask = sys_block_signals();
}

void process_after_fork_parent(pid_t child)
{
    if (!process.traced || process.shared == NULL)
        return;
    sys_restore_signals(fork_mask);
    struct recorder_thread *t = &recorder_self;
    if (child > 0 && recorder_is_on() && recorder_active(t))
        (void)recorder_emit(t, EV_FORK, (uint64_t)child, 0);
}

void process_after_fork_child(void)
{
    if (!process.traced || process.shared == NULL)
        return;
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    bool again = pt != NULL && t->attachment == RECORDER_UNATTACHED;
    own_stack_forked();
    windows_forked(pt, again);
    if (pt != NULL && !again)
        pt->was_recording = t->recording != 0;
    parts_forked(t, pt);
    if (pt != NULL)
        functions_forked(pt);
    leave_parents_stream(pt);
    affinity_process_begins();
    process.writer_started = false;
    process.stream_path[0] = '\0';
    process.id.parent_pid = process.pid;
    process.child = true;
    process.pid = (uint32_t)sys_getpid();
    process.id.pid = process.pid;
    process.id.pid_start_time = identity_start_time(process.pid);
    mpi_after_fork();
    void *automaton = t->automaton;
    recorder_after_fork(t);
    atomic_store(&process_start_state, process.follow ? START_UNTRIED : START_OVER);
    t->preload_thread = pt;
    t->automaton = automaton;
    t->counted =
        pt != NULL && pt->counting.counter.backend != NULL ? RECORDER_COUNTED_INSTRUCTIONS : 0;
    struct ctl_moment m = moment_now(0);
    ctl_fork_child(process.shared, pt != NULL ? pt->automaton : NULL, &fork_mask, &m);
    if (!process.follow)
        process.traced = false;
    else if (pt != NULL)
        sampling_resume(pt, pt->was_recording);
    if (pt != NULL)
        pmu_go(&pt->counting.counter);
}

void process_fork_unseen(void)
{
    uint64_t mask = sys_block_signals();
    if (!recorder_was_forked()) { /* a signal handler has followed this fork */
        sys_restore_signals(mask);
        return;
    }
    fork_mask = mask;
    signals_forked();
    process_after_fork_child(); /* restores the signals */
}
