/* SPDX-License-Identifier: BSD-3-Clause
 * Requests of `regtrace ctl` that the writer has put into the stream: fire the interactive alarms, open or close windows. */
#include "preload/internal.h"

#include "base/sys.h"

static struct alarm_list interactives;

void requests_prepare(const struct ctl_config *config)
{
    alarms_collect(config, CTL_INTERACTIVE, &interactives);
}

static unsigned armed_interactives(const struct preload_thread *pt, uint32_t tid)
{
    unsigned n = 0;
    for (unsigned i = 0; i < interactives.count; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, interactives.alarm[i]);
        n += ctl_thread_armed(pt->automaton, a->chain) == interactives.alarm[i] &&
             (a->tid == CTL_ANY_TID || a->tid == tid);
    }
    return n;
}

static uint64_t fire(struct preload_thread *pt, uint32_t number)
{
    struct ctl_moment m = moment_now(0);
    ctl_sync(pt->automaton, &m);
    unsigned armed = armed_interactives(pt, recorder_self.tid);
    uint32_t before = pt->asked;
    ctl_hit(pt->automaton, interactives.alarm, interactives.count, &m);
    return stream_result(number, interactives.count, armed, pt->asked - before);
}

/* Interactive alarms that do what is asked fire first: the chain goes on with it, and a later `fire` does the opposite. */
static void fire_same(struct preload_thread *pt, bool open, bool bcast)
{
    struct alarm_list same = {.count = 0};
    for (unsigned i = 0; i < interactives.count; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, interactives.alarm[i]);
        if (a->event == (open ? CTL_START : CTL_STOP) && (bcast || !a->bcast))
            same.alarm[same.count++] = interactives.alarm[i];
    }
    if (same.count == 0)
        return;
    struct ctl_moment m = moment_now(0);
    ctl_sync(pt->automaton, &m);
    ctl_hit(pt->automaton, same.alarm, same.count, &m);
}

static uint64_t set_windows(struct preload_thread *pt, uint32_t number, bool open, bool bcast)
{
    struct recorder_thread *t = &recorder_self;
    bool changes = windows_would_change(t, open, bcast);
    if (changes)
        fire_same(pt, open, bcast);
    if (changes && windows_would_change(t, open, bcast))
        windows_edge(t, open, bcast, 0);
    return stream_result(number, 1, 1, changes);
}

/* The answer is there before the program may end by what was fired. */
static void serve(struct stream_header *h, const struct stream_request *r, uint32_t number)
{
    struct preload_thread *pt = thread_self();
    bool can = pt != NULL && pt->automaton != NULL;
    uint64_t result = stream_result(number, 0, 0, 0);
    if (can && r->kind != STREAM_REQUEST_FIRE)
        result = set_windows(pt, number, r->kind == STREAM_REQUEST_OPEN, r->tid < 0);
    else if (can && interactives.count != 0)
        result = fire(pt, number);
    atomic_store(&h->requests[(number - 1) % STREAM_REQUESTS].result, result);
    sys_futex_wake(&h->requests_served, 1);
    if (atomic_exchange(&h->writer_sleeps, 0) != 0)
        sys_futex_wake(&h->writer_sleeps, 1);
    if (can)
        triggers_after_hit(pt);
}

/* Requests are served in order. One that names another thread is passed on to it. */
void trigger_requests(void)
{
    if (!process.traced || !recorder_is_on())
        return;
    struct stream_header *h = recorder_stream.header;
    struct recorder_thread *t = &recorder_self;
    for (;;) {
        uint32_t served = atomic_load(&h->requests_served);
        if (served == atomic_load(&h->requests_made))
            return;
        struct stream_request r = h->requests[served % STREAM_REQUESTS];
        if (r.tid >= 0 && (uint32_t)r.tid != t->tid) {
            for (uint32_t i = 0; i < atomic_load(&h->thread_count) && i < h->thread_capacity; i++) {
                struct stream_thread *row = &stream_threads(&recorder_stream)[i];
                if (row->tid == (uint32_t)r.tid && atomic_load(&row->state) == THREAD_LIVE) {
                    process_interrupt_thread(row->kernel_tid, INTERRUPT_REQUEST);
                    return; /* that thread serves it, and what stands behind it */
                }
            }
        }
        if (!atomic_compare_exchange_strong(&h->requests_served, &served, served + 1))
            continue;
        serve(h, &r, served + 1);
    }
}
