/* SPDX-License-Identifier: BSD-3-Clause
 * Slow paths of the recorder: threads and forks, records without a free slot, records of several
 * slots, and records of an edge in the past. */
#include "base/format/recorder_chunks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct recorder_thread recorder_self;
struct recorder_page
    recorder_page; /* all zeros, so no file mapping, which the kernel could not wipe */
struct stream recorder_stream = {.fd = -1};
static const struct stream_path no_path;
struct stream_path_table recorder_paths = {&no_path, 0};

static _Atomic uint32_t recording_on;
static _Atomic uint32_t next_tid, next_helper_tid = 1000;
bool recorder_forks_are_unseen;
static bool forks_are_seen;
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
    recorder_forks_are_unseen = sys_call6(SYS_madvise, (long)&recorder_page, sizeof recorder_page,
                                          MADV_WIPEONFORK, 0, 0, 0) != 0;
    forks_are_seen = !recorder_forks_are_unseen;
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

void recorder_no_paths(void)
{
    recorder_paths = (struct stream_path_table){&no_path, 0};
}

void recorder_start(const struct stream *s)
{
    recorder_stream = *s;
    recorder_paths = stream_path_table(s);
    if (recorder_was_forked())
        atomic_store(&recorder_epoch, 1);
    recorder_chunks_begin();
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

RT_COLD static bool can_record(struct recorder_thread *t)
{
    return recorder_is_on() && recorder_thread_attach(t, false);
}

/* --- records of an edge in the past ----------------------------------------------------------- */

/* While t->latest is set, t->end is the cursor: so recorder_emit() takes the slow path, and the
 * fast path need not know of it. */
static void show_room(struct recorder_thread *t)
{
    if (t->latest != 0 && t->chunk != NULL)
        t->end = chunk_slots(t->chunk) + stream_chunk_slots(&recorder_stream);
}

static void hide_room(struct recorder_thread *t)
{
    if (t->latest != 0)
        t->end = atomic_load_explicit(&t->cursor, memory_order_relaxed);
}

uint64_t recorder_clock(const struct recorder_thread *t)
{
    uint64_t now = clock_ticks();
    return t->latest != 0 && t->latest < now ? t->latest : now;
}

/* Returns the clock of the thread's last record in its chunk, or UINT64_MAX if that is unknown:
 * there is none, or our signal came before the record was filled in. */
static uint64_t last_clock(struct recorder_thread *t)
{
    const struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
    while (t->chunk != NULL && slot-- > chunk_slots(t->chunk) &&
           slot->head >> 48 == t->mark_bits >> 48) /* filled */
        if ((EVENT_HEAD_FLAGS(slot->head) & EVENT_FLAG_CONTINUED) == 0)
            return slot->clock;
    return UINT64_MAX;
}

/* Fills slots that exist. No other code records on this thread in the meantime. */
static uint64_t fill_long(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                          const uint64_t *more, unsigned n_more)
{
    struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
    atomic_store_explicit(&t->cursor, slot + 1 + n_more, memory_order_relaxed);
    t->continued += n_more;
    uint64_t cpu = (uint64_t)(uint16_t)*t->cpu << 32;
    uint64_t clock = recorder_clock(t);
    for (unsigned i = 0; i < n_more; i++) {
        uint64_t flags = EVENT_FLAG_CONTINUED | (i + 1 < n_more ? EVENT_FLAG_MORE : 0);
        uint64_t head = (code_flags & 0xffffffu) | flags << 24 | cpu | t->mark_bits;
        recorder_fill(slot + 1 + i, head, more[3 * i], more[3 * i + 1], more[3 * i + 2]);
    }
    uint64_t flags = n_more > 0 ? (uint64_t)EVENT_FLAG_MORE << 24 : 0;
    recorder_fill(slot, code_flags | flags | cpu | t->mark_bits, clock, a, b);
    return clock;
}

/* Gets room for a record. Records that tell of the wait for it have the clock of now. */
static bool make_room(struct recorder_thread *t, unsigned slots, bool control, uint64_t mask)
{
    show_room(t);
    bool ok = t->row != NULL && recorder_chunk_refill(t, slots, control, mask);
    uint64_t last = t->latest != 0 ? last_clock(t) : UINT64_MAX;
    if (last != UINT64_MAX && last > t->latest)
        t->latest = last;
    return ok;
}

RT_COLD void recorder_set_latest(struct recorder_thread *t, uint64_t clock)
{
    uint64_t last = clock != 0 ? last_clock(t) : 0;
    show_room(t);
    t->latest = last == UINT64_MAX ? 0 : clock > last ? clock : last;
    hide_room(t);
}

/* --- slow paths ------------------------------------------------------------------------------- */

/* Gets room and records. Sets *clock in any case; returns false if it dropped the record. */
RT_COLD static bool emit(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                         const uint64_t *more, unsigned n_more, bool control, uint64_t *clock)
{
    *clock = recorder_clock(t);
    if (!can_record(t))
        return false;
    int keep = errno;
    uint64_t mask = sys_block_signals();
    bool ok = make_room(t, 1 + n_more, control, mask);
    if (ok)
        *clock = fill_long(t, code_flags, a, b, more, n_more);
    else
        recorder_count_drop(t);
    hide_room(t);
    sys_restore_signals(mask);
    errno = keep;
    return ok;
}

RT_COLD bool recorder_emit_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                                uint64_t b, uint64_t *clock)
{
    return emit(t, code_flags, a, b, NULL, 0, false, clock);
}

RT_COLD void recorder_make_room(struct recorder_thread *t)
{
    if (atomic_load_explicit(&t->cursor, memory_order_relaxed) != t->end || t->latest != 0 ||
        !can_record(t))
        return;
    int keep = errno;
    uint64_t mask = sys_block_signals();
    if (t->row != NULL)
        (void)recorder_chunk_refill(t, 1, false, mask);
    sys_restore_signals(mask);
    errno = keep;
}

RT_COLD void recorder_put_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                               uint64_t b)
{
    (void)recorder_emit(t, code_flags, a, b);
}

void recorder_emit_blocked(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                           const uint64_t *more, unsigned n_more)
{
    if (RT_LIKELY(recorder_is_attached(t) && recorder_chunk_has(t, 1 + n_more) &&
                  !recorder_is_other_process()))
        (void)fill_long(t, code_flags, a, b, more, n_more);
    else
        (void)recorder_emit_long(t, code_flags, a, b, more, n_more);
}

RT_COLD uint64_t recorder_emit_long(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                                    uint64_t b, const uint64_t *more, unsigned n_more)
{
    uint64_t clock;
    (void)emit(t, code_flags, a, b, more, n_more, true, &clock);
    return clock;
}

void recorder_flush(struct recorder_thread *t)
{
    if (t->chunk == NULL || !recorder_is_attached(t))
        return;
    uint64_t mask = sys_block_signals();
    if (t->chunk != NULL && atomic_load(&t->cursor) != chunk_slots(t->chunk))
        recorder_chunk_close(t);
    sys_restore_signals(mask);
}

void recorder_thread_end(struct recorder_thread *t)
{
    if (!recorder_is_attached(t))
        return;
    recorder_scratch_end(t);
    uint64_t mask = sys_block_signals();
    if (t->dropped != 0 && t->row != NULL && recorder_is_on())
        (void)recorder_chunk_refill(t, 2, false, mask);
    recorder_chunk_close(t);
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
