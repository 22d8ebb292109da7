/* SPDX-License-Identifier: BSD-3-Clause
 * The recorder's producer side: per-thread state and the inline paths that put events into the stream.
 *
 * Everything here is async-signal-safe and allocates nothing. A slot is reserved by a compare-and-swap on the
 * thread's cursor that is atomic against signal handlers of this thread only (no lock prefix), with
 * the clock read between load and swap: slots of a thread are therefore in clock order, also when
 * a handler interrupts the recorder and records itself (the outer one then retries). */
#ifndef REGTRACE_BASE_FORMAT_RECORDER_H
#define REGTRACE_BASE_FORMAT_RECORDER_H

#include "base/clock.h"
#include "base/format/stream.h"

#define RECORDER_OPEN_CALLS 10 /* static TLS is small: t/style/stacks.t */
#define RECORDER_OPEN_FRAME 16 /* first bit of the frame address, which has at most 48 bits */

/* Bits of recorder_thread.open_calls; 0x83ff belong to mpi/. */
#define RECORDER_CALL_OVER                                                                         \
    0x2000u /* its leave is through: a window that opens now does not show it */
#define RECORDER_CALL_ENTERED 0x4000u /* an enter event for it stands in the open window */

/* Bits of recorder_thread.counted. */
#define RECORDER_COUNTED_INSTRUCTIONS 1u /* its own, and ours are to be told from them */
#define RECORDER_COUNTED_CALLS 2u        /* what is counted in each MPI call is wanted */

/* A thread's mapping for data that is too large for a small stack. `bytes` includes this header. */
struct recorder_scratch {
    size_t bytes;
    uint64_t room[];
};

/* Per-thread state. Initial-exec TLS: zero until recorder_thread_attach(). */
struct recorder_thread {
    struct event_slot *_Atomic cursor; /* next free slot; == end when there is none */
    struct event_slot *end;
    uint64_t mark_bits;  /* mark of the current chunk << 48 */
    const uint32_t *cpu; /* rseq's cpu_id, or a constant */
    uint32_t epoch;      /* recorder_epoch as last seen by this thread */
    uint32_t recording;  /* 1 inside a window: events are wanted */
    int32_t window;      /* ordinal in force, STREAM_NO_WINDOW outside */
    uint32_t tid;        /* ours */
    uint32_t index;      /* row in the thread table, STREAM_NONE when the table is full */
    uint32_t attached;   /* 0 never, 1 attached, 2 ended or switched off (forked child, vfork) */
    struct stream_thread *row;
    struct chunk_header *chunk;      /* current, NULL = none */
    uint64_t sequence;               /* of the next chunk */
    uint32_t continued;              /* continuation slots in the current chunk */
    uint64_t dropped, dropped_since; /* not yet reported by EV_DROPPED */
    uint32_t hurry;      /* in a signal's own records: no wait for the writer, drop and count */
    uint32_t in_toolkit; /* our own code runs: wrappers pass straight through */
    uint32_t counted;    /* RECORDER_COUNTED_*: calls take the slow path */
    uint32_t open_depth; /* MPI calls now open, outermost first; at most RECORDER_OPEN_CALLS */
    uint32_t finished;   /* how often recorder_finish_call() has been called */
    /* Low 16 bits: the number and state of the function. The upper 48 bits: the canonical frame
     * address. */
    uint64_t open_calls[RECORDER_OPEN_CALLS];
    /* Event of the outermost call that its state does not say yet: its slot, + 1 for a leave; 0 none. Its head. */
    uintptr_t pending;
    uint64_t pending_head;
    void *automaton;    /* struct ctl_thread of controller/ */
    void *window_state; /* preload/ */
    uint32_t claimed;   /* tid + 1 that the thread's creator claimed for it, 0 none */
    uint32_t proved;    /* mpi/: not 0: the current call succeeded, so its handles are valid */
    struct recorder_scratch *scratch; /* NULL: none yet, or in use */
};

/* Of functions that the program calls and that, where recorder_self.counted, tell first of all and at their very end that
 * they are not its own instructions: single steps leave them out (pmu/step.c). */
#define RECORDER_ENTRY __attribute__((section("regtrace_entries")))

extern __thread struct recorder_thread recorder_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Grows at every broadcast edge and whenever other threads must look; a thread compares it with its own. It has a page of its
 * own that the kernel wipes in every child with memory of its own (MADV_WIPEONFORK): a 0 there tells of a fork that no
 * wrapper of ours has seen, by a raw system call, before anything is written into the parent's stream. */
#ifdef __aarch64__
#define RECORDER_PAGE 65536 /* the largest that the kernel can be built with */
#else
#define RECORDER_PAGE 4096
#endif
struct recorder_page {
    _Atomic uint32_t epoch;
    _Atomic uint32_t mappings; /* whose: see recorder_own_mappings() */
} __attribute__((aligned(RECORDER_PAGE)));
extern struct recorder_page recorder_page __attribute__((visibility("hidden")));
#define recorder_epoch recorder_page.epoch

/* Once, before anything is recorded: from here on recorder_was_forked() tells, where the kernel can (Linux 4.14). */
void recorder_watch_forks(void);

/* Memory that no child inherits (MADV_DONTFORK, and what the kernel maps so) is there only where these say so: the first, when it is
 * mapped, gives what the second is asked with. Not 0. */
bool recorder_sees_forks(void); /* else nobody can tell */
uint32_t recorder_own_mappings(void);
static inline bool recorder_mappings_are_own(uint32_t owner)
{
    return atomic_load_explicit(&recorder_page.mappings, memory_order_relaxed) == owner;
}

/* This process has come out of a fork that recorder_after_fork() has not been told of; or is not traced at all. */
static inline bool recorder_was_forked(void)
{
    return atomic_load_explicit(&recorder_epoch, memory_order_relaxed) == 0;
}

/* Called by recorder_active() when this thread's epoch is behind (or it is not attached): preload/ sets it.
 * Returns the thread's new `recording`. Must set t->epoch. */
extern uint32_t (*recorder_sync)(struct recorder_thread *t) __attribute__((visibility("hidden")));

/* Is this thread inside a window, broadcast edges that it has not seen yet included? About 1 ns. */
static inline bool recorder_active(struct recorder_thread *t)
{
    if (RT_UNLIKELY(t->epoch != atomic_load_explicit(&recorder_epoch, memory_order_acquire)))
        return recorder_sync(t) != 0;
    return t->recording != 0;
}

/* Swap of the cursor, atomic with respect to this thread's own signal handlers only. */
static inline bool recorder_swap_cursor(struct recorder_thread *t, struct event_slot *from,
                                        struct event_slot *to)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    bool same;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@cce"(same), "+m"(t->cursor), "+a"(from)
                     : "r"(to)
                     : "memory");
    return same;
#else
    return atomic_compare_exchange_strong_explicit(&t->cursor, &from, to, memory_order_relaxed,
                                                   memory_order_relaxed);
#endif
}

static inline void recorder_fill(struct event_slot *slot, uint64_t head, uint64_t clock, uint64_t a,
                                 uint64_t b)
{
    slot->clock = clock;
    slot->a = a;
    slot->b = b;
    __atomic_store_n(&slot->head, head, __ATOMIC_RELEASE);
    /* Those that come soon, to be written: 2 ns of an event were spent on waiting for their lines. */
    __builtin_prefetch((const char *)slot + 512, 1);
}

/* No slot left (or no chunk yet): get one and record, or drop and count. Returns false when dropped. */
bool recorder_emit_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                        uint64_t *clock);

/* Record one event now. code_flags = code | flags << 24. The caller has seen recorder_active(), or means a
 * control record, which is recorded outside windows as well. Returns the clock it was recorded with. */
static inline uint64_t recorder_emit(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                                     uint64_t b)
{
    for (;;) {
        struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
        uint64_t mark = t->mark_bits;
        uint64_t clock;
        if (RT_UNLIKELY(slot == t->end)) {
            (void)recorder_emit_slow(t, code_flags, a, b, &clock);
            return clock;
        }
        uint64_t head = (uint64_t)code_flags | (uint64_t)(uint16_t)*t->cpu << 32 | mark;
        clock = clock_ticks();
        if (RT_LIKELY(recorder_swap_cursor(t, slot, slot + 1))) {
            recorder_fill(slot, head, clock, a, b);
            return clock;
        }
    }
}

/* recorder_emit() out of line, for recorder_put(). */
void recorder_put_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b);

/* As recorder_emit(), for those who need no clock back. Whatever is rare is a tail call, so that the common path needs
 * neither a frame nor saved registers. */
static inline void recorder_put(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                                uint64_t b)
{
    for (;;) {
        struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
        uint64_t mark = t->mark_bits;
        if (RT_UNLIKELY(slot == t->end || !clock_is_counter()))
            break;
        uint64_t head = (uint64_t)code_flags | (uint64_t)(uint16_t)*t->cpu << 32 | mark;
        uint64_t clock = clock_counter();
        if (RT_LIKELY(recorder_swap_cursor(t, slot, slot + 1))) {
            recorder_fill(slot, head, clock, a, b);
            return;
        }
    }
    recorder_put_slow(t, code_flags, a, b);
}

/* Before recording with signals blocked: get a chunk, and wait for one with the program's own mask. What cannot be had is
 * dropped by the record that follows. */
void recorder_make_room(struct recorder_thread *t);

/* Record `n` (1 to 8) slots as one record: the first as recorder_emit(), the others hold `more` (three
 * words each: clock, a, b). All of them stand in one chunk. Control records: never dropped while the writer lives. */
uint64_t recorder_emit_long(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                            const uint64_t *more, unsigned n_more);

/* As recorder_emit_long(), n_more 0 to 7, where all signals are blocked whose handlers record: no system call in the common case. */
void recorder_emit_blocked(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                           const uint64_t *more, unsigned n_more);

/* Let the state of the innermost open call say what its pending event makes of it. Wherever windows open or close, and
 * before a chunk is closed; in a handler, or with signals blocked. */
void recorder_finish_call(struct recorder_thread *t);

/* --- set-up and edges: not hot -------------------------------------------------------------------- */

/* The process's stream; NULL base = recording is off for this process. */
extern struct stream recorder_stream __attribute__((visibility("hidden")));

/* Take over a stream (constructor, or a forked child that made its own). */
void recorder_start(const struct stream *s);

/* No further event is recorded in this process; the stream stays mapped. For vfork children, exec, failure. */
void recorder_stop(void);
bool recorder_is_on(void);

/* Take the next tid, so that tids follow the order of creation: the creator claims one for the new thread (which keeps it in
 * `claimed`), and one for itself first if it has none. recorder_tid_return: the thread was not made. */
uint32_t recorder_tid_claim(bool helper);
void recorder_tid_return(uint32_t tid);

/* Claim a row for the calling thread. `helper`: tids from 1000. Sets t->tid, row and cpu; epoch stays behind so that the
 * first recorder_active() syncs. Safe to call again. False when recording is off; a full table: tid still given, index STREAM_NONE. */
bool recorder_thread_attach(struct recorder_thread *t, bool helper);

/* Close the thread's chunk and mark its row ended. */
void recorder_thread_end(struct recorder_thread *t);

/* Hand the current chunk to the writer if it holds anything (windows' ends, level 2 of Pcontrol, exec). */
void recorder_flush(struct recorder_thread *t);

/* Set the window of this thread; the edge's own records are written by the caller inside the window. */
static inline void recorder_set_window(struct recorder_thread *t, int32_t ordinal,
                                       uint32_t recording)
{
    t->window = ordinal;
    t->recording = recording;
}

/* Returns room for this many bytes, aligned to 8, until recorder_scratch_give(), or NULL without
 * memory. Uses the mapping of the last call again if it is large enough. */
struct recorder_scratch *recorder_scratch_take(struct recorder_thread *t, size_t bytes);
void recorder_scratch_give(struct recorder_thread *t, struct recorder_scratch *s);
void recorder_scratch_end(struct recorder_thread *t); /* when the thread ends */

/* In the child of fork: forget the parent's chunk and row; recording is off until recorder_start(). */
void recorder_after_fork(struct recorder_thread *t);

/* Wake a sleeping writer. */
void recorder_wake_writer(void);

/* Mean cost of one recorder_emit() in ticks, measured on scratch memory (about 10 µs). */
double recorder_measure_cost(void);

#endif
