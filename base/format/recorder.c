/* SPDX-License-Identifier: BSD-3-Clause
 * Slow paths of the recorder: takes chunks and hands them over, waits for the writer, drops and
 * counts events. */
#include "base/format/recorder.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WRITER_PATIENCE_NS 2000000000u /* stop waiting after 2 s without progress of the writer */
#define WAIT_SLICE_NS 20000000

__thread struct recorder_thread recorder_self;
struct recorder_page
    recorder_page; /* all zeros, so no file mapping, which the kernel could not wipe */
struct stream recorder_stream = {.fd = -1};

static _Atomic uint32_t recording_on;
static _Atomic uint32_t next_tid, next_helper_tid = 1000;
static _Atomic uint32_t chunk_hint;
/* 1: the writer made no progress: drop events without a wait until it does. */
static _Atomic uint32_t writer_gave_up;
static _Atomic uint64_t given_up_at;
static bool forks_are_unseen, forks_are_seen;
static const uint32_t unknown_cpu = EVENT_CPU_UNKNOWN;
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static uint32_t sync_unattached(struct recorder_thread *t)
{
    t->epoch = atomic_load_explicit(&recorder_epoch, memory_order_relaxed);
    return 0;
}
uint32_t (*recorder_sync)(struct recorder_thread *t) = sync_unattached;

bool recorder_is_on(void)
{
    return atomic_load_explicit(&recording_on, memory_order_acquire) != 0;
}

void recorder_watch_forks(void)
{
    forks_are_unseen = sys_call6(SYS_madvise, (long)&recorder_page, sizeof recorder_page,
                                 MADV_WIPEONFORK, 0, 0, 0) != 0;
    forks_are_seen = !forks_are_unseen;
    atomic_store(&recorder_epoch, 1);
}

bool recorder_sees_forks(void)
{
    return forks_are_seen;
}

uint32_t recorder_own_mappings(void)
{
    static _Atomic uint32_t last; /* inherited by children, so that no child reuses a number */
    uint32_t owner = 0, next = atomic_fetch_add(&last, 1) + 1;
    (void)atomic_compare_exchange_strong(&recorder_page.mappings, &owner, next);
    return owner != 0 ? owner : next;
}

/* Detects a fork by the pid if the kernel cannot wipe pages; checked once per chunk. Events in the
 * parent's open chunk are lost in that case. */
static bool is_another_process(void)
{
    return RT_UNLIKELY(forks_are_unseen) && (uint32_t)sys_getpid() != recorder_stream.header->pid;
}

void recorder_start(const struct stream *s)
{
    recorder_stream = *s;
    if (recorder_was_forked())
        atomic_store(&recorder_epoch, 1);
    atomic_store(&writer_gave_up, 0);
    atomic_store_explicit(&recording_on, 1, memory_order_release);
}

void recorder_stop(void)
{
    atomic_store_explicit(&recording_on, 0, memory_order_release);
}

void recorder_wake_writer(void)
{
    struct stream_header *h = recorder_stream.header;
    if (h != NULL && atomic_exchange(&h->writer_sleeps, 0) != 0)
        sys_futex_wake(&h->writer_sleeps, 1);
}

static const uint32_t *cpu_source(void)
{
    if (&__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size == 0)
        return &unknown_cpu;
    const char *rseq = (const char *)__builtin_thread_pointer() + __rseq_offset;
    return (const uint32_t *)(const void *)(rseq +
                                            4); /* fields of struct rseq: cpu_id_start, cpu_id */
}

/* Numbers of the program's own threads: 0 to 999, then from a million on. Helpers have those
 * between. */
#define HELPERS 1000u
#define HELPERS_END 1000000u

uint32_t recorder_tid_claim(bool helper)
{
    if (helper)
        return atomic_fetch_add(&next_helper_tid, 1);
    uint32_t n = atomic_fetch_add(&next_tid, 1);
    return n < HELPERS ? n : n - HELPERS + HELPERS_END;
}

void recorder_tid_return(uint32_t tid)
{
    bool helper = tid >= HELPERS && tid < HELPERS_END;
    uint32_t n = tid >= HELPERS_END ? tid - HELPERS_END + HELPERS : tid, after = n + 1;
    (void)atomic_compare_exchange_strong(helper ? &next_helper_tid : &next_tid, &after, n);
}

bool recorder_thread_attach(struct recorder_thread *t, bool helper)
{
    if (!recorder_is_on() || t->attachment == RECORDER_DETACHED)
        return false;
    if (recorder_is_attached(t))
        return true;
    struct stream_header *h = recorder_stream.header;
    t->cpu = cpu_source();
    t->window = STREAM_NO_WINDOW;
    t->tid = t->claimed != 0 ? t->claimed - 1 : recorder_tid_claim(helper);
    t->claimed = t->tid + 1;
    uint32_t i = atomic_fetch_add(&h->thread_count, 1);
    t->index = i < h->thread_capacity ? i : STREAM_NONE;
    if (t->index != STREAM_NONE) {
        t->row = &stream_threads(&recorder_stream)[i];
        t->row->tid = t->tid;
        t->row->kernel_tid = (uint32_t)sys_gettid();
        t->row->started = clock_ticks();
        atomic_store_explicit(&t->row->state, THREAD_LIVE, memory_order_release);
    }
    t->attachment = RECORDER_ATTACHED;
    return true;
}

/* Returns true if the interrupted code got this slot. If other code got the slot, it has filled it
 * by now. */
static bool is_committed(const struct recorder_thread *t, const struct event_slot *slot)
{
    if (t->chunk == NULL || slot < chunk_slots(t->chunk) ||
        slot >= atomic_load_explicit(&t->cursor, memory_order_relaxed))
        return false;
    uint64_t head = __atomic_load_n(&slot->head, __ATOMIC_RELAXED);
    return head == t->pending_head || head >> 48 != t->mark_bits >> 48;
}

void recorder_finish_call(struct recorder_thread *t)
{
    uintptr_t pending = t->pending;
    t->pending = 0;
    t->finished++;
    if (pending == 0 || t->open_depth - 1 >= RECORDER_OPEN_CALLS)
        return;
    uint64_t *state = &t->open_calls[t->open_depth - 1];
    const struct event_slot *slot = (const struct event_slot *)(pending & ~(uintptr_t)1);
    bool leave = (pending & 1) != 0, committed = is_committed(t, slot);
    if (leave == committed)
        *state &= ~(uint64_t)RECORDER_CALL_ENTERED;
    else
        *state |= RECORDER_CALL_ENTERED;
    if (leave && committed)
        *state |= RECORDER_CALL_OVER;
}

static void close_chunk(struct recorder_thread *t)
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

/* Waits until a chunk is free, other threads hold all chunks, the writer has failed, or the writer
 * has made no progress for WRITER_PATIENCE_NS on CLOCK_MONOTONIC. The caller has blocked signals.
 * They are unblocked during the sleep, because the program's signals would otherwise go to other
 * threads. A signal handler may then get a chunk for this thread, or jump out of this function. */
static struct chunk_header *wait_for_chunk(struct recorder_thread *t, uint64_t mask)
{
    struct stream_header *h = recorder_stream.header;
    uint64_t began = clock_monotonic_ns(), moved = began;
    uint64_t ticks = clock_ticks();
    uint64_t progress = atomic_load(&h->writer_progress);
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
        uint64_t now = clock_monotonic_ns();
        uint64_t p = atomic_load(&h->writer_progress);
        if (p != progress) {
            progress = p;
            moved = now;
        } else if (now - moved > WRITER_PATIENCE_NS) {
            atomic_store(&given_up_at, progress);
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

static bool has_room(const struct recorder_thread *t, unsigned slots)
{
    return t->chunk != NULL &&
           t->end - atomic_load_explicit(&t->cursor, memory_order_relaxed) >= (ptrdiff_t)slots;
}

/* Gets a free chunk for the thread, if need be after a wait, and adds the wait's ticks to *waited.
 * Returns NULL with a chunk in t if a signal handler got one in the meantime. */
static struct chunk_header *get_chunk(struct recorder_thread *t, bool control, uint64_t mask,
                                      uint64_t *waited)
{
    struct chunk_header *c = take_free_chunk();
    if (c != NULL || t->hurry != 0 || !may_wait(control))
        return c;
    uint64_t from = clock_ticks();
    c = wait_for_chunk(t, mask);
    *waited += clock_ticks() - from;
    return c;
}

/* Makes sure that the thread has at least `slots` free slots; returns false if it cannot. Signals
 * are blocked; `mask` is the mask from before. */
static bool refill(struct recorder_thread *t, unsigned slots, bool control, uint64_t mask)
{
    uint64_t began = clock_ticks(), waited = 0;
    while (!has_room(t, slots)) {
        if (is_another_process())
            return false;
        close_chunk(t);
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

static void count_drop(struct recorder_thread *t)
{
    if (t->row == NULL) {
        atomic_fetch_add(&recorder_stream.header->dropped_unthreaded, 1);
        return;
    }
    if (t->dropped++ == 0)
        t->dropped_since = clock_ticks();
    atomic_fetch_add(&t->row->dropped, 1);
}

RT_COLD static bool can_record(struct recorder_thread *t)
{
    return recorder_is_on() && recorder_thread_attach(t, false);
}

RT_COLD bool recorder_emit_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                                uint64_t b, uint64_t *clock)
{
    *clock = clock_ticks();
    if (!can_record(t))
        return false;
    int keep = errno;
    uint64_t mask = sys_block_signals();
    bool ok = t->row != NULL && refill(t, 1, false, mask);
    if (ok)
        *clock = recorder_emit(t, code_flags, a, b);
    else
        count_drop(t);
    sys_restore_signals(mask);
    errno = keep;
    return ok;
}

RT_COLD void recorder_make_room(struct recorder_thread *t)
{
    if (atomic_load_explicit(&t->cursor, memory_order_relaxed) != t->end || !can_record(t))
        return;
    int keep = errno;
    uint64_t mask = sys_block_signals();
    if (t->row != NULL)
        (void)refill(t, 1, false, mask);
    sys_restore_signals(mask);
    errno = keep;
}

RT_COLD void recorder_put_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                               uint64_t b)
{
    (void)recorder_emit(t, code_flags, a, b);
}

/* Fills slots that exist. No other code records on this thread in the meantime. */
static uint64_t fill_long(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                          const uint64_t *more, unsigned n_more)
{
    struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
    atomic_store_explicit(&t->cursor, slot + 1 + n_more, memory_order_relaxed);
    t->continued += n_more;
    uint64_t cpu = (uint64_t)(uint16_t)*t->cpu << 32;
    uint64_t clock = clock_ticks();
    for (unsigned i = 0; i < n_more; i++) {
        uint64_t flags = EVENT_FLAG_CONTINUED | (i + 1 < n_more ? EVENT_FLAG_MORE : 0);
        uint64_t head = (code_flags & 0xffffffu) | flags << 24 | cpu | t->mark_bits;
        recorder_fill(slot + 1 + i, head, more[3 * i], more[3 * i + 1], more[3 * i + 2]);
    }
    uint64_t flags = n_more > 0 ? (uint64_t)EVENT_FLAG_MORE << 24 : 0;
    recorder_fill(slot, code_flags | flags | cpu | t->mark_bits, clock, a, b);
    return clock;
}

void recorder_emit_blocked(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                           const uint64_t *more, unsigned n_more)
{
    if (RT_LIKELY(recorder_is_attached(t) && has_room(t, 1 + n_more) && !is_another_process()))
        (void)fill_long(t, code_flags, a, b, more, n_more);
    else
        (void)recorder_emit_long(t, code_flags, a, b, more, n_more);
}

RT_COLD uint64_t recorder_emit_long(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                                    uint64_t b, const uint64_t *more, unsigned n_more)
{
    uint64_t clock = clock_ticks();
    if (!can_record(t))
        return clock;
    int keep = errno;
    uint64_t mask = sys_block_signals();
    if (t->row == NULL || !refill(t, 1 + n_more, true, mask)) {
        count_drop(t);
    } else {
        clock = fill_long(t, code_flags, a, b, more, n_more);
    }
    sys_restore_signals(mask);
    errno = keep;
    return clock;
}

void recorder_flush(struct recorder_thread *t)
{
    if (t->chunk == NULL || !recorder_is_attached(t))
        return;
    uint64_t mask = sys_block_signals();
    if (t->chunk != NULL && atomic_load(&t->cursor) != chunk_slots(t->chunk))
        close_chunk(t);
    sys_restore_signals(mask);
}

void recorder_thread_end(struct recorder_thread *t)
{
    if (!recorder_is_attached(t))
        return;
    recorder_scratch_end(t);
    uint64_t mask = sys_block_signals();
    if (t->dropped != 0 && t->row != NULL && recorder_is_on())
        (void)refill(t, 2, false, mask);
    close_chunk(t);
    t->attachment = RECORDER_DETACHED;
    t->recording = 0;
    if (t->row != NULL) {
        t->row->ended = clock_ticks();
        atomic_store_explicit(&t->row->state, THREAD_ENDED, memory_order_release);
    }
    sys_restore_signals(mask);
}

void recorder_after_fork(struct recorder_thread *t)
{
    recorder_stop();
    uint32_t depth = t->open_depth, in_toolkit = t->in_toolkit;
    struct recorder_scratch *scratch = t->scratch;
    uint64_t open[RECORDER_OPEN_CALLS];
    memcpy(open, t->open_calls, sizeof open);
    memset(t, 0, sizeof *t);
    memcpy(t->open_calls, open, sizeof open);
    t->scratch = scratch;
    t->open_depth = depth;
    for (uint32_t i = 0; i < depth; i++) /* the child's stream holds none of these calls */
        t->open_calls[i] &= ~(uint64_t)RECORDER_CALL_ENTERED;
    t->in_toolkit = in_toolkit;
    t->window = STREAM_NO_WINDOW;
    atomic_store(&recorder_epoch, 1); /* the kernel has wiped it; t->epoch is 0 */
    atomic_store(&next_tid, 0);
    atomic_store(&next_helper_tid, 1000);
    atomic_store(&chunk_hint, 0);
}

double recorder_measure_cost(void)
{
    enum { SLOTS = 128, ROUNDS = 4 };
    static struct event_slot scratch[SLOTS];
    struct recorder_thread t = {.cpu = &unknown_cpu, .end = scratch + SLOTS};
    uint64_t best = UINT64_MAX;
    for (int r = 0; r < ROUNDS; r++) {
        atomic_store(&t.cursor, scratch);
        uint64_t began = clock_ticks();
        for (int i = 0; i < SLOTS; i++)
            (void)recorder_emit(&t, EV_FLUSH, 0, 0);
        uint64_t took = clock_ticks() - began;
        best = took < best ? took : best;
    }
    return (double)best / SLOTS;
}
