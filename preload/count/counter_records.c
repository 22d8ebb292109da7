/* SPDX-License-Identifier: BSD-3-Clause
 * Records of events counted in windows, in MPI calls, and for the stats- events: the difference of
 * two readings. */
#include "preload/count/counter_records.h"

#include "base/format/event_fields.h"
#include "base/log.h"
#include "base/sys.h"
#include "preload/count/sampling.h"
#include "preload/images/image_records.h"
#include "preload/process.h"
#include "preload/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static struct pmu_counter_set set;

/* Maps our code before anything is counted, so that a page fault on it is not counted as the
 * program's. From Linux 5.14 on. */
static void map_own_code(void)
{
    uintptr_t from, to;
    if (!images_own_code(&from, &to))
        return;
    from &= ~(TEXT_PAGE - 1);
    (void)sys_call6(SYS_madvise, (long)from, (long)(to - from), MADV_POPULATE_READ, 0, 0, 0);
}

int counters_prepare(struct rt_error *e)
{
    int rc = pmu_wanted_counters(&process.options, process.pmu, sampling_spec(), &set, e);
    if (set.count != 0)
        map_own_code();
    return rc;
}

const struct pmu_counter_set *counters_set(void)
{
    return &set;
}

bool counters_are_on(void)
{
    return set.count != 0;
}

void counters_ready(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    static _Atomic bool said;
    if (set.count == 0 || pt->counters.running.count != 0)
        return;
    if (pmu_counters_begin(&pt->counters.running, &set) != 0 && !atomic_exchange(&said, true))
        log_line(LOG_ERROR, "a thread has not all its counters of REGTRACE_EVENTS: those that are "
                            "missing read 0 (out of file descriptors, or of counters?)");
    pt->counters.called_window = STREAM_NO_WINDOW;
    pmu_counters_read(&pt->counters.running, pt->counters.reset);
}

/* Records for each counter what it has counted since `from`. */
static void emit(struct recorder_thread *t, const struct preload_thread *pt, uint32_t code,
                 const struct pmu_reading *from, const struct pmu_reading *now)
{
    for (unsigned i = 0; i < set.count; i++) {
        uint32_t per_mille;
        uint64_t n = pmu_counters_between(&set, &pt->counters.running, i, from, now, &per_mille);
        (void)recorder_emit(
            t, code,
            EVENT_PUT(EV_COUNTER, event, stream_string_id(&recorder_stream, set.name[i])) |
                EVENT_PUT(EV_COUNTER, running_per_mille, per_mille),
            n);
    }
}

void counters_opened(struct recorder_thread *t, struct preload_thread *pt)
{
    if (set.count == 0)
        return;
    pmu_counters_read(&pt->counters.running, pt->counters.opened);
    if (process.options.number[OPT_events_mpi] != 0)
        t->counted |= RECORDER_COUNTED_CALLS;
}

void counters_again(const struct recorder_thread *t, struct preload_thread *pt)
{
    if (pt->counters.running.count == 0)
        return;
    pmu_counters_read(&pt->counters.running, pt->counters.reset);
    if (t->recording != 0)
        memcpy(pt->counters.opened, pt->counters.reset, sizeof pt->counters.opened);
}

void counters_closes(struct recorder_thread *t, struct preload_thread *pt)
{
    struct pmu_reading now[PMU_COUNTERS];
    if (pt->counters.running.count == 0)
        return;
    pmu_counters_read(&pt->counters.running, now);
    emit(t, pt, EV_COUNTER, pt->counters.opened, now);
}

void counters_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    pmu_counters_end(&pt->counters.running);
    t->counted &= ~RECORDER_COUNTED_CALLS;
}

void counters_call_begin(struct recorder_thread *t)
{
    struct preload_thread *pt = t->preload_thread;
    uint64_t mask = sys_block_signals();
    pt->counters.called_window = t->window;
    pmu_counters_read(&pt->counters.running, pt->counters.called);
    sys_restore_signals(mask);
}

/* A call that is cut by an edge of a window is counted in neither window. */
void counters_call_end(struct recorder_thread *t)
{
    struct pmu_reading now[PMU_COUNTERS];
    struct preload_thread *pt = t->preload_thread;
    uint64_t mask = sys_block_signals();
    if (t->recording != 0 && pt->counters.called_window == t->window) {
        pmu_counters_read(&pt->counters.running, now);
        emit(t, pt, EV_MPI_COUNTER, pt->counters.called, now);
    }
    pt->counters.called_window = STREAM_NO_WINDOW;
    sys_restore_signals(mask);
}

void counters_stats(struct recorder_thread *t, uint32_t code, uint32_t alarm, uint32_t tid)
{
    struct pmu_reading now[PMU_COUNTERS];
    struct preload_thread *pt = t->preload_thread;
    (void)recorder_emit(t, code, alarm, tid);
    if (set.count == 0 || pt == NULL)
        return;
    uint64_t mask = sys_block_signals();
    counters_ready(t, pt);
    pmu_counters_read(&pt->counters.running, now);
    if (code != EV_STATS_RESET)
        emit(t, pt, EV_STATS_COUNTER, pt->counters.reset, now);
    if (code != EV_STATS_EMIT)
        memcpy(pt->counters.reset, now, sizeof now);
    sys_restore_signals(mask);
}
