/* SPDX-License-Identifier: BSD-3-Clause
 * Connects MPI's start and end with the process: confirms the rank, starts the recording, and makes
 * MPI_Pcontrol a trigger. */
#include "preload/count/counter_records.h"
#include "base/format/event_fields.h"
#include "preload/count/counting.h"
#include "preload/life.h"
#include "preload/memory/memory.h"
#include "preload/process.h"
#include "preload/stack/call_paths.h"
#include "preload/stack/call_walk.h"
#include "preload/thread.h"
#include "preload/window/parts.h"
#include "preload/window/triggers.h"

#include "base/return_address.h"
#include "mpi/mpi.h"

#include <string.h>

static void init_begin(void)
{
    if (!process.traced || process_is_idle_now())
        return;
    struct preload_thread *pt = thread_self();
    parts_hold(pt, true);
}

static void init_failed(void)
{
    if (!process.traced)
        return;
    parts_hold(recorder_self.preload_thread, false);
}

/* Results of MPI_Init, for a stream that is made later. Valid in the process `pid`, not in its
 * children. */
static struct {
    uint32_t pid, state; /* state 1: initialized; 2: finalized */
    int thread_level, abi;
    bool has_world; /* rank and size are MPI's; sessions alone do not tell them */
} known;
static _Atomic(const struct stream_header *) told; /* the stream that has EV_MPI_READY */

void mpi_glue_fill(struct stream_header *h)
{
    if (known.pid != process.pid)
        return;
    atomic_store(&h->rank_confirmed, known.has_world);
    atomic_store(&h->mpi_state, known.state);
}

void mpi_glue_tell(struct recorder_thread *t)
{
    const struct stream_header *h = recorder_stream.header;
    if (known.pid == process.pid && known.state == STREAM_MPI_UP && atomic_exchange(&told, h) != h)
        (void)recorder_emit(t, EV_MPI_READY,
                            EVENT_PUT(EV_MPI_READY, rank, process.id.rank) |
                                EVENT_PUT(EV_MPI_READY, size, process.id.size),
                            EVENT_PUT(EV_MPI_READY, thread_level, known.thread_level) |
                                EVENT_PUT(EV_MPI_READY, abi, (uint32_t)known.abi) |
                                EVENT_PUT(EV_MPI_READY, numbered, mpi_numbering) |
                                EVENT_PUT(EV_MPI_READY, all_numbered, mpi_numbering));
}

static void init_done(int rank, int size, int thread_level, int abi)
{
    if (!process.traced)
        return;
    if (size > 0) { /* else they stay those that the launcher has told */
        process.id.rank = rank;
        process.id.size = size;
        known.has_world = true;
    }
    known.thread_level = thread_level;
    known.abi = abi;
    known.state = STREAM_MPI_UP;
    known.pid = process.pid;
    parts_hold(recorder_self.preload_thread, false);
    if (!recorder_is_on())
        return;
    struct stream_header *h = recorder_stream.header;
    atomic_store(&h->rank, process.id.rank);
    atomic_store(&h->size, process.id.size);
    mpi_glue_fill(h);
    if (thread_self() != NULL)
        mpi_glue_tell(&recorder_self);
    recorder_wake_writer();
}

static void finalize_done(void)
{
    known.state = STREAM_MPI_FINALIZED;
    if (!process.traced || !recorder_is_on())
        return;
    atomic_store(&recorder_stream.header->mpi_state, STREAM_MPI_FINALIZED);
    (void)recorder_emit(&recorder_self, EV_MPI_DONE, 0, 0);
}

/* MPI_Abort() was called: the launcher is about to kill the ranks. Hands over what this thread has
 * recorded. */
static void abort_called(int code)
{
    (void)code;
    if (process.traced && recorder_is_on())
        recorder_flush(&recorder_self);
}

static void pcontrol(int level, uint64_t second_arg, int is_fortran, void *frame)
{
    struct memory_position before = memory_position_of_call(frame);
    trigger_pcontrol(level, second_arg, is_fortran != 0, return_address_at(frame));
    memory_position_restore(before);
}

/* Outside windows this does not read a counter that counts our code too, because that takes 1 us or
 * more. It subtracts the known cost of the call instead. */
static unsigned own_begin(unsigned function)
{
    if (recorder_self.recording == 0)
        counting_exclude(mpi_own_cost[function]);
    return counting_own_begin_if(recorder_self.recording != 0 || function == MPI_OWN_MEASURED);
}

static struct mpi_inside program_begin(void)
{
    struct pmu_inside in = counting_program_begin();
    struct mpi_inside out = {{0}};
    _Static_assert(sizeof in <= sizeof out, "it fits");
    memcpy(&out, &in, sizeof in);
    return out;
}

static void program_end(struct mpi_inside inside)
{
    struct pmu_inside in;
    memcpy(&in, &inside, sizeof in);
    counting_program_end(in);
}

void process_install_mpi_hooks(void)
{
    mpi_hooks.own_begin = own_begin;
    mpi_hooks.own_end = counting_own_end;
    mpi_hooks.program_begin = program_begin;
    mpi_hooks.program_end = program_end;
    mpi_hooks.call_begin = counters_call_begin;
    mpi_hooks.call_end = counters_call_end;
    mpi_hooks.path_enter = call_path_entered;
    mpi_hooks.path_of_stack = call_path_of_stack;
    mpi_path_depth = (uint32_t)process.options.number[OPT_callpath];
    mpi_hooks.init_begin = init_begin;
    mpi_hooks.init_failed = init_failed;
    mpi_hooks.init_done = init_done;
    mpi_hooks.finalize_done = finalize_done;
    mpi_hooks.abort_called = abort_called;
    mpi_hooks.pcontrol = pcontrol;
}
