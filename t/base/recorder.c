/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the recorder with an independent reader: no event is lost or stored twice, and clocks are
 * in slot order, also with events from signal handlers. */
#include "base/format/recorder.h"
#include "base/sys.h"
#include "t/tap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, EVENTS = 200000 };

/* --- An independent, simple reader, which follows each thread's chunks by sequence number --- */

struct seen {
    uint64_t next_sequence, events, handler_events, last_clock, last_a, last_b, out_of_order, wrong,
        dropped;
};

static struct seen seen[64];
static _Atomic bool stop_reader, pause_reader;

static void take(struct chunk_header *c, struct seen *s, uint32_t tid)
{
    uint32_t used = atomic_load(&c->used);
    const struct event_slot *slots = chunk_slots(c);
    for (uint32_t i = 0; i < used; i++) {
        uint64_t head = __atomic_load_n(&slots[i].head, __ATOMIC_ACQUIRE);
        while (EVENT_HEAD_MARK(head) != (uint16_t)c->generation)
            head = __atomic_load_n(&slots[i].head, __ATOMIC_ACQUIRE);
        s->out_of_order += slots[i].clock < s->last_clock;
        s->last_clock = slots[i].clock;
        uint32_t code = EVENT_HEAD_CODE(head);
        if (code == EV_MARK_SET) {
            s->wrong += slots[i].a != s->last_a++ || slots[i].b != tid;
            s->events++;
        } else if (code == EV_MARK_PUSH) {
            s->wrong += slots[i].a != s->last_b++;
            s->handler_events++;
        } else if (code == EV_DROPPED) {
            s->dropped += slots[i].a;
        } else if (code != EV_WAITED) {
            s->wrong++;
        }
    }
}

static void *reader(void *arg)
{
    struct stream *s = arg;
    bool idle = false, last = false; /* the last pass must begin after the stop */
    while (!last || !idle) {
        last = atomic_load(&stop_reader);
        idle = true;
        if (atomic_load(&pause_reader)) {
            usleep(1000);
            continue;
        }
        for (uint32_t i = 0; i < s->header->chunk_count; i++) {
            struct chunk_header *c = stream_chunk(s, i);
            if (atomic_load(&c->state) != CHUNK_CLOSED ||
                c->sequence != seen[c->thread].next_sequence)
                continue;
            take(c, &seen[c->thread], stream_threads(s)[c->thread].tid);
            seen[c->thread].next_sequence++;
            c->generation = (uint16_t)(c->generation + 1) == 0 ? 1 : c->generation + 1;
            atomic_store(&c->state, CHUNK_FREE);
            atomic_fetch_add(&s->header->writer_progress, 1);
            atomic_fetch_add(&s->header->chunks_freed, 1);
            sys_futex_wake(&s->header->chunks_freed, 1000);
            idle = false;
        }
        if (idle)
            usleep(20); /* valgrind runs one thread at a time: let another one run */
    }
    return NULL;
}

/* --- Producers --- */

static __thread volatile uint64_t from_handler;
static _Atomic uint64_t all_from_handlers;

static void on_signal(int signo)
{
    (void)signo;
    int keep = errno;
    if (recorder_is_attached(&recorder_self))
        (void)recorder_emit(&recorder_self, EV_MARK_PUSH, from_handler++, 0);
    errno = keep;
}

/* Emits EVENTS events. If `arg` is not NULL, the thread waits half-way until a signal handler has
 * interrupted it at least once, and sets `*arg` when it has emitted all events. */
static void *producer(void *arg)
{
    _Atomic bool *done = arg;
    struct recorder_thread *t = &recorder_self;
    (void)recorder_thread_attach(t, false);
    for (uint64_t i = 0; i < EVENTS; i++) {
        (void)recorder_emit(t, EV_MARK_SET, i, t->tid);
        while (done != NULL && i == EVENTS / 2 && from_handler == 0)
            (void)sched_yield();
    }
    if (done != NULL)
        atomic_store(done, true);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    recorder_thread_end(t);
    atomic_fetch_add(&all_from_handlers, from_handler);
    return NULL;
}

static struct stream make_stream(uint64_t pool, char path[64])
{
    struct stream s;
    struct rt_error e = {{0}};
    struct stream_geometry g = {.pool_bytes = pool, .chunk_bytes = 4096, .thread_capacity = 64};
    (void)snprintf(path, 64, "/tmp/recorder-test-%d", (int)getpid());
    int rc = stream_create(&s, path, &g, &e);
    if (!ok(rc == 0, "a stream is created%s%s", rc ? ": " : "", e.text))
        exit(1);
    (void)unlink(path);
    recorder_start(&s);
    return s;
}

/* The recorder rightly gives up a reader that shows no sign of life for 2 s, as one without a
 * processor does. It then drops events and counts them. Returns true if that happened since
 * `began`. */
static bool gave_up(const struct stream *s, const struct clock_point *began)
{
    struct clock_point now = clock_calibrate();
    struct clock_map map = clock_map_make(began, &now, 0);
    uint64_t dropped = 0, longest = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t ticks = atomic_load(&stream_threads(s)[i].wait_ticks);
        longest = ticks > longest ? ticks : longest;
        dropped += atomic_load(&stream_threads(s)[i].dropped);
    }
    return dropped > 0 && clock_map_ns(&map, map.ticks0 + longest) - (int64_t)map.ns0 > 1900000000;
}
static const char *const slow =
    "the reader was given no processor: it was without progress for 2 s";

static void test_threads(void)
{
    struct clock_point began = clock_calibrate();
    char path[64];
    struct stream s = make_stream(256u << 10, path);
    s.header->writer_state = WRITER_READY;
    pthread_t r, p[THREADS];
    pthread_create(&r, NULL, reader, &s);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&p[i], NULL, producer, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(p[i], NULL);
    atomic_store(&stop_reader, true);
    pthread_join(r, NULL);
    uint64_t events = 0, handler = 0, out = 0, wrong = 0, waits = 0;
    for (int i = 0; i < 64; i++) {
        events += seen[i].events;
        handler += seen[i].handler_events;
        out += seen[i].out_of_order;
        wrong += seen[i].wrong;
        waits += atomic_load(&stream_threads(&s)[i].waits);
    }
    if (gave_up(&s, &began)) {
        skip("every event of every thread arrived", slow);
    } else {
        is_u64(events, (uint64_t)THREADS * EVENTS, "every event of every thread arrived");
        is_u64(wrong, 0, "each once, in order, with its payload");
    }
    is_u64(handler, 0, "and none that nobody recorded");
    is_u64(out, 0, "the slots of a thread are in clock order");
    diag("%llu waits for the reader", (unsigned long long)waits);
    recorder_stop();
    stream_close(&s);
}

/* Interrupts a thread that records, as often as signals can be sent; the handler records too. */
static void test_interrupted_thread(void)
{
    struct clock_point began = clock_calibrate();
    char path[64];
    memset(seen, 0, sizeof seen);
    atomic_store(&stop_reader, false);
    atomic_store(&all_from_handlers, 0);
    struct stream s = make_stream(256u << 10, path);
    s.header->writer_state = WRITER_READY;
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &sa, NULL);
    pthread_t r, p;
    pthread_create(&r, NULL, reader, &s);
    _Atomic bool done = false;
    pthread_create(&p, NULL, producer, &done);
    for (int i = 0; i < 3000 || !atomic_load(&done); i++) {
        (void)pthread_kill(p, SIGALRM);
        usleep(5);
    }
    pthread_join(p, NULL);
    atomic_store(&stop_reader, true);
    pthread_join(r, NULL);
    uint64_t handler = 0, out = 0, wrong = 0, events = 0;
    for (int i = 0; i < 64; i++) {
        events += seen[i].events;
        handler += seen[i].handler_events;
        out += seen[i].out_of_order;
        wrong += seen[i].wrong;
    }
    if (gave_up(&s, &began)) {
        skip("interrupted: every event arrived", slow);
    } else {
        is_u64(events, EVENTS, "interrupted: every event arrived");
        is_u64(handler, atomic_load(&all_from_handlers),
               "interrupted: every event of the handler arrived");
        is_u64(wrong, 0, "interrupted: each once, in order");
    }
    ok(handler > 0, "interrupted: the handler did record (%llu times)",
       (unsigned long long)handler);
    is_u64(out, 0, "interrupted: slots in clock order");
    recorder_stop();
    stream_close(&s);
}

/* Makes a small stream whose reader does not begin yet. */
static struct stream make_unread_stream(void)
{
    char path[64];
    memset(seen, 0, sizeof seen);
    atomic_store(&stop_reader, false);
    atomic_store(&pause_reader, true);
    struct stream s = make_stream(64u << 10, path);
    s.header->writer_state = WRITER_READY;
    return s;
}

static void test_drop(void)
{
    struct stream s = make_unread_stream();
    s.header->flags |= STREAM_FLAG_DROP;
    struct recorder_thread *t = &recorder_self;
    ok(recorder_thread_attach(t, false), "attached");
    uint64_t i = 0;
    for (; i < 10000; i++)
        (void)recorder_emit(t, EV_MARK_SET, i, t->tid);
    uint64_t dropped = atomic_load(&t->row->dropped);
    ok(dropped > 0 && dropped < 10000, "a full stream drops and counts (%llu)",
       (unsigned long long)dropped);
    pthread_t r;
    pthread_create(&r, NULL, reader, &s);
    atomic_store(&pause_reader, false);
    while (atomic_load(&s.header->chunks_freed) == 0)
        usleep(100);
    /* Emit until the reader has kept up: the events that are dropped last have no EV_DROPPED record
     * and are only in the thread's row. */
    for (; i < 12000 || t->dropped != 0; i++) {
        (void)recorder_emit(t, EV_MARK_SET, i, t->tid);
        if (i >= 12000)
            usleep(100);
    }
    recorder_thread_end(t);
    atomic_store(&stop_reader, true);
    pthread_join(r, NULL);
    struct seen *m = &seen[t->index];
    dropped = atomic_load(&t->row->dropped);
    is_u64(m->events + dropped, i, "stored and dropped add up to what was emitted");
    is_u64(m->dropped, dropped, "EV_DROPPED records say how many");
    recorder_stop();
    stream_close(&s);
}

/* Lets the reader go on as soon as a thread waits for a chunk. */
static void *let_reader_go_on(void *arg)
{
    struct stream *s = arg;
    while (atomic_load(&s->header->producers_wait) == 0 && !atomic_load(&stop_reader))
        usleep(100);
    atomic_store(&pause_reader, false);
    return NULL;
}

/* In a thread of its own: the main thread has ended in an earlier stream. */
static void *test_hurry(void *arg)
{
    struct stream s = make_unread_stream();
    struct recorder_thread *t = &recorder_self;
    ok(recorder_thread_attach(t, false), "attached");
    t->hurry = 1;
    uint64_t recorded = 0;
    while (t->row != NULL && atomic_load(&t->row->dropped) == 0)
        (void)recorder_emit(t, EV_MARK_SET, recorded++, t->tid);
    recorded--;
    is_u64(t->row->waits, 0, "a thread that records a signal does not wait: it drops the event");
    pthread_t r, other;
    pthread_create(&r, NULL, reader, &s);
    pthread_create(&other, NULL, let_reader_go_on, &s);
    (void)recorder_emit_long(t, EV_MARK_SET, recorded++, t->tid, NULL, 0);
    t->hurry = 0;
    is_u64(t->row->waits, 1, "a control record waits");
    recorder_thread_end(t);
    atomic_store(&stop_reader, true);
    pthread_join(r, NULL);
    pthread_join(other, NULL);
    struct seen *m = &seen[t->index];
    is_u64(m->events, recorded, "and is recorded");
    is_u64(m->wrong, 0, "in order");
    is_u64(m->dropped, 1, "after the count of what was dropped");
    recorder_stop();
    stream_close(&s);
    return arg;
}

int main(void)
{
    clock_init(false);
    ok(recorder_measure_cost() > 0, "the cost of an event is measured: %.1f ticks",
       recorder_measure_cost());
    test_threads();
#ifdef __SANITIZE_THREAD__
    /* The thread sanitizer delays signals and runs handlers at points of its choice, even in
     * sections in which the kernel has the signals blocked. */
    (void)test_interrupted_thread;
    skip("interrupted", "the thread sanitizer delivers signals that system calls of our own block");
#else
    test_interrupted_thread();
#endif
    test_drop();
    pthread_t hurried;
    pthread_create(&hurried, NULL, test_hurry, NULL);
    pthread_join(hurried, NULL);
    return done_testing();
}
