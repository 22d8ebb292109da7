/* SPDX-License-Identifier: BSD-3-Clause
 * Chunks of the recorder: takes free ones and hands over full ones, waits for the writer, counts
 * what is dropped. */
#include "base/format/recorder_chunks.h"

/* A thread stops waiting when the writer shows no sign of life for 2 s: it is dead or stopped. One
 * that lives but makes no progress gets 30 s: a file system may stop all writes for long. */
#define SILENT_NS 2000000000u
#define STALLED_NS 30000000000u
#define WAIT_SLICE_NS 20000000u

static _Atomic uint32_t chunk_hint;
/* 1: the writer made no progress: drop events without a wait until it does. */
static _Atomic uint32_t writer_gave_up;
static _Atomic uint64_t given_up_at;

void recorder_chunk_close(struct recorder_thread *t)
{
    struct chunk_header *c = t->chunk;
    if (c == NULL)
        return;
    recorder_finish_call(t); /* while its slot can still be read */
    struct event_slot *cursor = atomic_load_explicit(&t->cursor, memory_order_relaxed);
    uint32_t used = (uint32_t)(cursor - chunk_slots(c));
    t->chunk = NULL;
    t->end = NULL;
    atomic_store_explicit(&t->cursor, NULL, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->row->recorded, used - t->continued, memory_order_relaxed);
    t->continued = 0;
    atomic_store_explicit(&c->used, used, memory_order_relaxed);
    atomic_store_explicit(&c->state, CHUNK_CLOSED, memory_order_release);
    recorder_wake_writer();
}

static struct chunk_header *take_free_chunk(void)
{
    uint32_t n = recorder_stream.header->chunk_count;
    uint32_t from = atomic_load_explicit(&chunk_hint, memory_order_relaxed);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = (from + k) % n;
        struct chunk_header *c = stream_chunk(&recorder_stream, i);
        uint32_t free = CHUNK_FREE;
        if (atomic_load_explicit(&c->state, memory_order_relaxed) == CHUNK_FREE &&
            atomic_compare_exchange_strong_explicit(&c->state, &free, CHUNK_OPEN,
                                                    memory_order_acquire, memory_order_relaxed)) {
            atomic_store_explicit(&chunk_hint, (i + 1) % n, memory_order_relaxed);
            return c;
        }
    }
    return NULL;
}

static bool writer_is_hopeless(void)
{
    uint32_t w = atomic_load(&recorder_stream.header->writer_state);
    return w == WRITER_FAILED || w == WRITER_CLOSED;
}

/* What a waiting thread has seen of the writer. */
struct patience {
    uint64_t looked;           /* the last look; ns on CLOCK_MONOTONIC */
    uint64_t progress, beats;  /* as of the last look */
    uint64_t silent_ns;        /* without any sign of life */
    uint64_t without_progress; /* ns; a writer may live and still make none */
};

/* Returns false when the wait should end. A look counts two slices at most: the time in which this
 * process was itself stopped, or had no processor, says nothing about the writer. */
static bool look_at_writer(struct patience *p)
{
    struct stream_header *h = recorder_stream.header;
    uint64_t now = clock_monotonic_ns(), ns = now - p->looked;
    uint64_t progress = atomic_load(&h->writer_progress), beats = atomic_load(&h->writer_beats);
    bool moved = progress != p->progress;
    bool lives = moved || beats != p->beats || atomic_load(&h->writer_state) == WRITER_STARTING;
    ns = ns < 2 * WAIT_SLICE_NS ? ns : 2 * WAIT_SLICE_NS;
    p->silent_ns = lives ? 0 : p->silent_ns + ns;
    p->without_progress = moved ? 0 : p->without_progress + ns;
    p->looked = now;
    p->progress = progress;
    p->beats = beats;
    return p->silent_ns < SILENT_NS && p->without_progress < STALLED_NS;
}

/* Waits until a chunk is free, other threads hold all chunks, the writer has failed, or the writer
 * has been silent or without progress for too long. The caller has blocked signals. They are
 * unblocked during the sleep, because the program's signals would otherwise go to other
 * threads. A signal handler may then get a chunk for this thread, or jump out of this function. */
static struct chunk_header *wait_for_chunk(struct recorder_thread *t, uint64_t mask)
{
    struct stream_header *h = recorder_stream.header;
    uint64_t ticks = clock_ticks();
    struct patience patience = {.looked = clock_monotonic_ns(),
                                .progress = atomic_load(&h->writer_progress),
                                .beats = atomic_load(&h->writer_beats)};
    struct chunk_header *c = NULL;
    atomic_fetch_add(&h->producers_wait, 1);
    while (!writer_is_hopeless()) {
        uint32_t freed = atomic_load(&h->chunks_freed);
        c = take_free_chunk();
        if (c != NULL || atomic_load(&h->chunks_held) != 0)
            break;
        recorder_wake_writer();
        sys_restore_signals(mask);
        sys_futex_wait(&h->chunks_freed, freed, WAIT_SLICE_NS);
        (void)sys_block_signals();
        if (t->chunk != NULL)
            break;
        if (!look_at_writer(&patience)) {
            atomic_store(&given_up_at, patience.progress);
            atomic_store(&writer_gave_up, 1);
            break;
        }
    }
    atomic_fetch_sub(&h->producers_wait, 1);
    atomic_fetch_add(&t->row->waits, 1);
    atomic_fetch_add(&t->row->wait_ticks, clock_ticks() - ticks);
    return c;
}

static bool may_wait(bool control)
{
    struct stream_header *h = recorder_stream.header;
    if (writer_is_hopeless() || atomic_load(&h->chunks_held) != 0)
        return false;
    if ((h->flags & STREAM_FLAG_DROP) && !control) {
        atomic_store(&h->chunk_wanted, 1);
        recorder_wake_writer();
        return false;
    }
    if (atomic_load(&writer_gave_up)) {
        if (atomic_load(&h->writer_progress) == atomic_load(&given_up_at))
            return false;
        atomic_store(&writer_gave_up, 0); /* it makes progress again */
    }
    return true;
}

static void install_chunk(struct recorder_thread *t, struct chunk_header *c)
{
    c->thread = t->index;
    c->window = t->window;
    c->sequence = t->sequence++;
    c->opened = clock_ticks();
    atomic_store_explicit(&t->row->chunks, t->sequence, memory_order_release);
    t->chunk = c;
    t->mark_bits = (uint64_t)chunk_mark(c) << 48;
    struct event_slot *first = chunk_slots(c);
    t->end = first + stream_chunk_slots(&recorder_stream);
    __asm__ volatile("" ::: "memory");
    atomic_store_explicit(&t->cursor, first, memory_order_relaxed);
}

/* Gets a free chunk for the thread, if need be after a wait, and adds the wait's ticks to *waited.
 * Returns NULL with a chunk in t if a signal handler got one in the meantime. */
static struct chunk_header *get_chunk(struct recorder_thread *t, bool control, uint64_t mask,
                                      uint64_t *waited)
{
    struct chunk_header *c = take_free_chunk();
    if (c != NULL || (t->hurry != 0 && !control) || !may_wait(control))
        return c;
    uint64_t from = clock_ticks();
    c = wait_for_chunk(t, mask);
    *waited += clock_ticks() - from;
    return c;
}

bool recorder_chunk_refill(struct recorder_thread *t, unsigned slots, bool control, uint64_t mask)
{
    uint64_t began = clock_ticks(), waited = 0;
    while (!recorder_chunk_has(t, slots)) {
        if (recorder_is_other_process())
            return false;
        recorder_chunk_close(t);
        struct chunk_header *c = get_chunk(t, control, mask, &waited);
        if (c == NULL && t->chunk == NULL)
            return false;
        if (c == NULL)
            continue;
        install_chunk(t, c);
        if (t->dropped != 0) {
            uint64_t n = t->dropped;
            t->dropped = 0;
            (void)recorder_emit(t, EV_DROPPED, n, clock_ticks() - t->dropped_since);
        }
    }
    if (waited != 0)
        (void)recorder_emit(t, EV_WAITED, waited, 0);
    recorder_count_own_time(t, began + waited);
    return true;
}

void recorder_count_drop(struct recorder_thread *t)
{
    if (t->row == NULL) {
        atomic_fetch_add(&recorder_stream.header->dropped_unthreaded, 1);
        return;
    }
    if (t->dropped++ == 0)
        t->dropped_since = clock_ticks();
    atomic_fetch_add(&t->row->dropped, 1);
}

void recorder_chunks_begin(void)
{
    atomic_store(&chunk_hint, 0);
    atomic_store(&writer_gave_up, 0);
}
