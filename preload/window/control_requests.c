/* SPDX-License-Identifier: BSD-3-Clause
 * Serves the requests of `regtrace ctl` that the writer puts into the stream: to fire the
 * interactive alarms, or to open or close windows. Serves events that regtrace_fire() requests from
 * another thread. */
#include "preload/libc/interpose.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/control_events.h"
#include "preload/window/interrupts.h"
#include "preload/window/triggers.h"

#include "base/log.h"
#include "base/sys.h"

#define FIRES 64u

/* A request of regtrace_fire() to another thread. */
struct asked_fire {
    _Atomic uint64_t state; /* FREE, TAKEN (being written or read), or waiting() */
    enum ctl_event event;
    bool bcast;
    uintptr_t ip;
};
enum { FREE, TAKEN, WAITING };
static struct asked_fire fires[FIRES];
static _Atomic uint32_t fire_turns;

/* Kernel ids of threads that began before anything was recorded, by our number. Such a thread has
 * no row in the stream until it first records. 0: it has a row, has ended, or was not made. */
#define EARLY 1000u
static _Atomic uint32_t early_threads[EARLY];

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
    bool changes = control_would_change(t, open, bcast);
    if (changes)
        fire_same(pt, open, bcast);
    if (changes && control_would_change(t, open, bcast))
        control_edge(t, open, bcast, 0);
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

void requests_early_thread(uint32_t tid, uint32_t kernel_tid)
{
    if (tid < EARLY)
        atomic_store(&early_threads[tid], kernel_tid);
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

/* Our signal attaches an early thread, and then it serves its requests. */
static uint32_t thread_that_fires(uint32_t tid)
{
    uint32_t thread = live_thread(tid);
    if (thread == 0 && tid < EARLY)
        thread = atomic_load(&early_threads[tid]);
    return thread == 0 && tid == 0 ? process.pid : thread;
}

/* The state of a request to this thread; later requests have later turns. */
static uint64_t waiting(uint32_t tid, uint32_t turn)
{
    return (uint64_t)turn << 32 | (tid + WAITING);
}

static bool move(struct asked_fire *f, uint64_t from, uint64_t to)
{
    return atomic_load_explicit(&f->state, memory_order_relaxed) == from &&
           atomic_compare_exchange_strong(&f->state, &from, to);
}

/* Writes a request and interrupts the thread. Returns false if no place is free, or if the thread
 * has ended. */
static bool ask(uint32_t tid, uint32_t thread, enum ctl_event event, bool bcast, uintptr_t ip)
{
    uint32_t i = 0;
    while (i < FIRES && !move(&fires[i], FREE, TAKEN))
        i++;
    if (i == FIRES)
        return false;
    struct asked_fire *f = &fires[i];
    f->event = event;
    f->bcast = bcast;
    f->ip = ip;
    uint64_t state = waiting(tid, atomic_fetch_add(&fire_turns, 1));
    atomic_store(&f->state, state);
    return process_interrupt_thread(thread, INTERRUPT_REQUEST) || !move(f, state, FREE);
}

void requests_fire(uint32_t tid, enum ctl_event event, bool bcast, uintptr_t ip)
{
    static _Atomic bool told;
    uint32_t thread = recorder_is_on() ? thread_that_fires(tid) : 0;
    if (recorder_is_on() && (thread == 0 || !ask(tid, thread, event, bcast, ip)) &&
        !atomic_exchange(&told, true))
        log_line(LOG_WARNING, "regtrace_fire: no such thread records, or too many events wait for "
                              "their threads; such events are left out");
}

/* Takes the oldest event that waits for this thread. */
static bool take_fire(uint32_t tid, struct asked_fire *out)
{
    for (;;) {
        struct asked_fire *first = NULL;
        uint64_t oldest = 0;
        for (uint32_t i = 0; i < FIRES; i++) {
            uint64_t state = atomic_load(&fires[i].state);
            if ((uint32_t)state == tid + WAITING &&
                (first == NULL || (int64_t)(state - oldest) < 0)) {
                first = &fires[i];
                oldest = state;
            }
        }
        if (first == NULL)
            return false;
        if (!move(first, oldest, TAKEN))
            continue;
        out->event = first->event;
        out->bcast = first->bcast;
        out->ip = first->ip;
        atomic_store(&first->state, FREE);
        return true;
    }
}

/* Fires the events that other threads requested from this one, in their order. */
static void serve_fires(struct recorder_thread *t)
{
    struct asked_fire f;
    while (take_fire(t->tid, &f))
        control_event(t, f.event, f.bcast, f.ip);
}

/* Serves the requests in order. Passes a request for another thread on to that thread. */
void trigger_requests(void)
{
    if (!process.traced || !recorder_is_on())
        return;
    struct stream_header *h = recorder_stream.header;
    struct recorder_thread *t = &recorder_self;
    if (t->attachment == RECORDER_UNATTACHED && thread_self() == NULL)
        return;
    serve_fires(t);
    for (;;) {
        uint32_t served = atomic_load(&h->requests_served);
        if (served == atomic_load(&h->requests_made))
            return;
        struct stream_request r = h->requests[served % STREAM_REQUESTS];
        if (r.tid >= 0 && (uint32_t)r.tid != t->tid) {
            uint32_t thread = live_thread((uint32_t)r.tid);
            if (thread != 0) {
                (void)process_interrupt_thread(thread, INTERRUPT_REQUEST);
                return; /* that thread serves it and the requests after it */
            }
        }
        if (!atomic_compare_exchange_strong(&h->requests_served, &served, served + 1))
            continue;
        serve(h, &r, served + 1);
    }
}
