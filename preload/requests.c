/* SPDX-License-Identifier: BSD-3-Clause
 * Serves the requests of `regtrace ctl` that the writer puts into the stream: to fire the
 * interactive alarms, or to open or close windows. Serves events that regtrace_fire() requests from
 * another thread. */
#include "preload/internal.h"

#include "base/log.h"
#include "base/sys.h"

#define FIRES 64u

/* A request of regtrace_fire() to thread `tid`. */
struct asked_fire {
    _Atomic uint32_t state; /* FREE, TAKEN (being written or read), READY */
    uint32_t tid;
    enum ctl_event event;
    bool bcast;
    uintptr_t ip;
};
enum { FREE, TAKEN, READY };
static struct asked_fire fires[FIRES];

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

/* Fires the interactive alarms that do what the request asks, so that the chain advances and a
 * later `fire` does the opposite. */
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

/* Serves one request. Publishes the answer before triggers_after_hit(), which may end the
 * program. */
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

static bool move(struct asked_fire *f, uint32_t from, uint32_t to)
{
    return atomic_load_explicit(&f->state, memory_order_relaxed) == from &&
           atomic_compare_exchange_strong(&f->state, &from, to);
}

static uint32_t live_thread(uint32_t tid)
{
    const struct stream_header *h = recorder_stream.header;
    for (uint32_t i = 0; i < atomic_load(&h->thread_count) && i < h->thread_capacity; i++) {
        const struct stream_thread *row = &stream_threads(&recorder_stream)[i];
        if (row->tid == tid && atomic_load(&row->state) == THREAD_LIVE)
            return row->kernel_tid;
    }
    return 0;
}

void requests_fire(uint32_t tid, enum ctl_event event, bool bcast, uintptr_t ip)
{
    static _Atomic bool told;
    uint32_t thread = recorder_is_on() ? live_thread(tid) : 0, i = 0;
    while (thread != 0 && i < FIRES && !move(&fires[i], FREE, TAKEN))
        i++;
    if (thread != 0 && i < FIRES) {
        struct asked_fire *f = &fires[i];
        f->tid = tid;
        f->event = event;
        f->bcast = bcast;
        f->ip = ip;
        atomic_store(&f->state, READY);
        process_interrupt_thread(thread, INTERRUPT_REQUEST);
    } else if (recorder_is_on() && !atomic_exchange(&told, true)) {
        log_line(LOG_WARNING, "regtrace_fire: no such thread records, or too many events wait for "
                              "their threads; such events are left out");
    }
}

/* Fires the events that other threads requested from this one. */
static void serve_fires(struct recorder_thread *t)
{
    for (uint32_t i = 0; i < FIRES; i++) {
        struct asked_fire *f = &fires[i];
        if (f->tid != t->tid || !move(f, READY, TAKEN))
            continue;
        const struct asked_fire mine = {
            .tid = f->tid, .event = f->event, .bcast = f->bcast, .ip = f->ip};
        bool ours = mine.tid == t->tid;
        atomic_store(&f->state, ours ? FREE : READY);
        if (ours)
            windows_fire(t, mine.event, mine.bcast, mine.ip);
    }
}

/* Serves the requests in order. Passes a request for another thread on to that thread. */
void trigger_requests(void)
{
    if (!process.traced || !recorder_is_on())
        return;
    struct stream_header *h = recorder_stream.header;
    struct recorder_thread *t = &recorder_self;
    serve_fires(t);
    for (;;) {
        uint32_t served = atomic_load(&h->requests_served);
        if (served == atomic_load(&h->requests_made))
            return;
        struct stream_request r = h->requests[served % STREAM_REQUESTS];
        if (r.tid >= 0 && (uint32_t)r.tid != t->tid) {
            uint32_t thread = live_thread((uint32_t)r.tid);
            if (thread != 0) {
                process_interrupt_thread(thread, INTERRUPT_REQUEST);
                return; /* that thread serves it and the requests after it */
            }
        }
        if (!atomic_compare_exchange_strong(&h->requests_served, &served, served + 1))
            continue;
        serve(h, &r, served + 1);
    }
}
