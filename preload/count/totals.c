/* SPDX-License-Identifier: BSD-3-Clause
 * Totals of what each thread has executed: those of a counting run, and those shown beside windows.
 *
 * A thread notes its total when it ends. Threads that still live when the program ends (those of
 * OpenMP do) cannot. In a counting run nothing is subtracted from their counts after they have
 * begun, so the thread that ends the program reads their counters. */
#include "preload/count/totals.h"
#include "preload/count/counting.h"
#include "preload/process.h"
#include "preload/thread.h"

#include "base/log.h"
#include "base/sys.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>

void totals_begin(struct recorder_thread *t, struct preload_thread *pt)
{
    const struct pmu_thread *c = &pt->counting.counter;
    if (t->row == NULL || c->backend == NULL || pt->counting.late)
        return;
    t->row->excluded = c->excluded;
    atomic_store(&t->row->counter, c->backend->kernels ? c->fd + 1 : 0);
}

/* Reports once that a thread was not counted all the time: edges came too late, and its icounts are
 * too small. */
static void say_share(const struct pmu_thread *c)
{
    static _Atomic bool said;
    char text[32];
    uint32_t share = pmu_thread_share(c);
    if (share == 1000 || atomic_exchange(&said, true))
        return;
    (void)snprintf(text, sizeof text, "%u.%u %% of the time", share / 10, share % 10);
    log_detail(
        LOG_ERROR,
        "instructions were counted for a part of the time alone, since the program or another "
        "tool uses counters too and there are too few: icounts are too small",
        text);
}

uint64_t totals_note(struct recorder_thread *t, const struct preload_thread *pt)
{
    uint64_t count = counting_known(pt);
    if (t->row != NULL && count != CTL_UNKNOWN)
        atomic_store_explicit(&t->row->instructions, count, memory_order_relaxed);
    return count;
}

/* The thread goes on without being counted: its total is unknown. */
void totals_retire(struct recorder_thread *t, const struct preload_thread *pt)
{
    say_share(&pt->counting.counter);
    if (t->row == NULL)
        return;
    atomic_store(&t->row->counter, 0);
    atomic_store_explicit(&t->row->instructions, 0, memory_order_relaxed);
}

/* Called before the counter is closed: nobody may read it any more. */
void totals_end(struct recorder_thread *t, struct preload_thread *pt)
{
    say_share(&pt->counting.counter);
    if (t->row != NULL)
        atomic_store(&t->row->counter, 0);
}

/* Reads the counter of another thread, which may close it meanwhile. Only counters of this library
 * have descriptors in that range (pmu_perf_open_high()), so at worst this reads another counter; it
 * then drops the reading, because `counter` of the row has changed. */
static void note_other(struct stream_thread *row)
{
    uint64_t id;
    struct pmu_reading now = {0};
    int fd = atomic_load(&row->counter) - 1;
    if (fd < 0 || sys_call6(SYS_ioctl, fd, PERF_EVENT_IOC_ID, (long)&id, 0, 0, 0) != 0)
        return;
    long got = sys_call6(SYS_read, fd, (long)&now, sizeof now, 0, 0, 0);
    if (got == (long)sizeof now && atomic_load(&row->counter) == fd + 1)
        atomic_store_explicit(&row->instructions, now.value - row->excluded, memory_order_relaxed);
}

void totals_finish(void)
{
    struct stream_header *h = recorder_stream.header;
    uint32_t n = atomic_load(&h->thread_count);
    const struct preload_thread *pt = recorder_self.preload_thread;
    if (pt != NULL)
        say_share(&pt->counting.counter);
    if (process.options.number[OPT_count] == 0)
        return;
    for (uint32_t i = 0; i < n && i < h->thread_capacity; i++) {
        struct stream_thread *row = &stream_threads(&recorder_stream)[i];
        if (i != recorder_self.index && atomic_load(&row->state) == THREAD_LIVE)
            note_other(row);
    }
}

bool totals_are_there(void)
{
    struct stream_header *h = recorder_stream.header;
    uint32_t n = atomic_load(&h->thread_count);
    for (uint32_t i = 0; i < n && i < h->thread_capacity; i++)
        if (atomic_load(&stream_threads(&recorder_stream)[i].instructions) != 0)
            return true;
    return false;
}
