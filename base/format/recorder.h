/* SPDX-License-Identifier: BSD-3-Clause
 * The recorder's producer side: per-thread state and the inline paths that put events into the
 * stream.
 *
 * Everything here is async-signal-safe and allocates nothing. A compare-and-swap on the thread's
 * cursor reserves a slot. It has no lock prefix: it is atomic with respect to signal handlers of
 * this thread only. The recorder reads the clock between the load and the swap. The slots of a
 * thread are therefore in clock order, even if a signal handler interrupts the recorder and records
 * events itself: the interrupted swap then fails, and the recorder tries again. */
#ifndef REGTRACE_BASE_FORMAT_RECORDER_H
#define REGTRACE_BASE_FORMAT_RECORDER_H

#include "base/clock.h"
#include "base/format/stream.h"

#define RECORDER_OPEN_CALLS 10     /* few, because static TLS is small: t/style/stacks.t */
#define RECORDER_OPEN_RETURN_AT 16 /* first bit of that address, which has at most 48 bits */

/* Bits of recorder_thread.open_calls; mpi/ owns the bits 0x83ff. */
#define RECORDER_CALL_OVER                                                                         \
    0x2000u /* its leave event is done: a window that opens from here on does not show the call */
#define RECORDER_CALL_ENTERED 0x4000u /* the open window holds an enter event of it */

/* Bits of recorder_thread.counted. */
#define RECORDER_COUNTED_INSTRUCTIONS 1u /* the thread's own instructions, without regtrace's */
#define RECORDER_COUNTED_CALLS 2u        /* events in each MPI call */

/* A thread's mapping for data that is too large for a small stack. `bytes` includes this header. */
struct recorder_scratch {
    size_t bytes;
    uint64_t room[];
};

/* Does the thread write to the stream? */
enum recorder_attachment {
    RECORDER_UNATTACHED, /* not yet */
    RECORDER_ATTACHED,
    RECORDER_DETACHED /* it has ended, or is switched off: in a forked child, in a child of vfork */
};

/* State of one thread. Initial-exec TLS: zero until recorder_thread_attach(). */
struct recorder_thread {
    struct event_slot *_Atomic cursor; /* next free slot; == end when there is none */
    struct event_slot *end;
    uint64_t mark_bits;  /* mark of the current chunk << 48 */
    const uint32_t *cpu; /* rseq's cpu_id, or a constant */
    uint32_t epoch;      /* recorder_epoch as this thread last saw it */
    uint32_t recording;  /* 1 inside a window: events are wanted */
    int32_t window;      /* ordinal in force, STREAM_NO_WINDOW outside */
    uint32_t tid;        /* regtrace's number of the thread */
    uint32_t index;      /* row in the thread table, STREAM_NONE when the table is full */
    enum recorder_attachment attachment;
    struct stream_thread *row;
    struct chunk_header *chunk;      /* current, NULL = none */
    uint64_t sequence;               /* of the next chunk */
    uint64_t dropped, dropped_since; /* not yet reported by EV_DROPPED */
    /* Not 0 while the thread records a signal: it drops and counts events rather than wait for the
     * writer. Control records wait. */
    uint32_t hurry;
    uint32_t in_toolkit; /* regtrace's code runs: wrappers do nothing but call the original */
    uint32_t counted;    /* RECORDER_COUNTED_*: calls take the slow path */
    uint32_t open_depth; /* open MPI calls, outermost first; at most RECORDER_OPEN_CALLS */
    uint32_t finished;   /* calls of recorder_finish_call() so far */
    uint32_t continued;  /* continuation slots in the current chunk */
    /* Low 16 bits: the number and state of the function. The upper 48 bits: the address of the
     * stack's word that holds the return address. */
    uint64_t open_calls[RECORDER_OPEN_CALLS];
    /* The latest event of the outermost call, which the call's state does not reflect yet: the
     * address of its slot, + 1 for a leave; 0 = none. Then the event's head. */
    uintptr_t pending;
    uint64_t pending_head;
    void *automaton;      /* struct ctl_thread of controller/ */
    void *preload_thread; /* struct preload_thread of preload/ */
    uint32_t claimed;     /* tid + 1 that the thread's creator claimed for it; 0 = none */
    uint32_t proved;      /* mpi/: not 0: the current call succeeded, so its handles are valid */
    struct mpi_profile *profile; /* mpi/: the profile has the thread's calls; NULL: it has not */
    struct recorder_scratch *scratch; /* NULL: not mapped, or in use */
    uint64_t latest;                  /* of recorder_set_latest(); 0: none */
};

static inline bool recorder_is_attached(const struct recorder_thread *t)
{
    return t->attachment == RECORDER_ATTACHED;
}

/* Marks functions that the program calls. If recorder_self.counted is set, they report at their
 * very beginning and their very end that their instructions are not the program's. Single steps
 * leave these functions out (pmu/step.c). */
#define RECORDER_ENTRY __attribute__((section("regtrace_entries")))

extern __thread struct recorder_thread recorder_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* `epoch` grows at every broadcast edge, and whenever other threads must synchronize; each
 * thread compares it with its own copy. The struct fills a page, which the kernel wipes in every
 * child with separate memory (MADV_WIPEONFORK). An epoch of 0 thus reveals a fork by a raw
 * system call, which no wrapper of regtrace has seen, before the child writes anything into the
 * parent's stream. */
#ifdef __aarch64__
#define RECORDER_PAGE 65536 /* largest page size of the kernel */
#else
#define RECORDER_PAGE 4096
#endif
struct recorder_page {
    _Atomic uint32_t epoch;
    _Atomic uint32_t mappings; /* owner of the mappings; see recorder_own_mappings() */
} __attribute__((aligned(RECORDER_PAGE)));
extern struct recorder_page recorder_page __attribute__((visibility("hidden")));
#define recorder_epoch recorder_page.epoch

/* Call it once, before anything is recorded. From then on recorder_was_forked() detects forks, if
 * the kernel can wipe pages (Linux 4.14). */
void recorder_watch_forks(void);

/* Children do not inherit memory with MADV_DONTFORK and certain mappings of the kernel. Such memory
 * exists in this process only if it was mapped here: take recorder_own_mappings() when you map it,
 * and later ask recorder_mappings_are_own() with that number, which is never 0.
 * recorder_sees_forks() returns false if forks cannot be detected. */
bool recorder_sees_forks(void);
uint32_t recorder_own_mappings(void);
static inline bool recorder_mappings_are_own(uint32_t owner)
{
    return atomic_load_explicit(&recorder_page.mappings, memory_order_relaxed) == owner;
}

/* Returns true if this process comes from a fork that recorder_after_fork() has not handled, or if
 * it is not traced at all. */
static inline bool recorder_was_forked(void)
{
    return atomic_load_explicit(&recorder_epoch, memory_order_relaxed) == 0;
}

/* recorder_active() calls it if this thread's epoch is behind or the thread is not attached.
 * preload/ sets the pointer. Returns the thread's new `recording`. Must set t->epoch. */
extern uint32_t (*recorder_sync)(struct recorder_thread *t) __attribute__((visibility("hidden")));

/* Returns true if this thread is inside a window. Considers broadcast edges that the thread has not
 * seen yet. Takes about 1 ns. */
static inline bool recorder_active(struct recorder_thread *t)
{
    if (RT_UNLIKELY(t->epoch != atomic_load_explicit(&recorder_epoch, memory_order_acquire)))
        return recorder_sync(t) != 0;
    return t->recording != 0;
}

/* Swaps the cursor, atomically with respect to this thread's own signal handlers only. */
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
    /* Prefetches a slot that will be written soon: 2 ns of each event were spent waiting for cache
     * lines. */
    __builtin_prefetch((const char *)slot + 512, 1);
}

/* Slow path of recorder_emit(), without a free slot or without a chunk: gets one and records the
 * event, or drops and counts it. Returns false if it dropped the event. Sets *clock. */
bool recorder_emit_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                        uint64_t *clock);

/* Records one event now. code_flags = code | flags << 24. The caller has checked recorder_active(),
 * or records a control record, which is recorded outside windows as well. Returns the clock of the
 * event. */
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

/* As recorder_emit(), but returns no clock. Rare cases are tail calls, so that the common path
 * needs neither a frame nor saved registers. */
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

/* Call it before you record with signals blocked: gets a chunk, and waits for one under the
 * program's own signal mask. If it gets none, the recorder drops the record that follows. */
void recorder_make_room(struct recorder_thread *t);

/* Records one record of 1 + n_more slots (1 to 8): the first slot as recorder_emit(), the others
 * from `more` (three words each: clock, a, b). All slots are in one chunk. For control records,
 * such as edges of windows: they wait for a chunk even where events are dropped. Returns the clock
 * of the record. */
uint64_t recorder_emit_long(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                            const uint64_t *more, unsigned n_more);

/* As recorder_emit_long(), with n_more from 0 to 7. All signals whose handlers record must be
 * blocked. Makes no system call in the common case. */
void recorder_emit_blocked(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                           const uint64_t *more, unsigned n_more);

/* Until recorder_set_latest(t, 0), records get no later clock than this, and none before that of
 * the thread's last record. For a thread that follows an edge of another thread: what ends with the
 * edge ended then. Signals are blocked in between. */
void recorder_set_latest(struct recorder_thread *t, uint64_t clock);
/* Returns the clock that a record would get now. */
uint64_t recorder_clock(const struct recorder_thread *t);

/* Updates the state of the innermost open call from its pending event. Call it wherever windows
 * open or close, and before a chunk is closed; in a signal handler, or with signals blocked. */
void recorder_finish_call(struct recorder_thread *t);

/* --- setup and edges (slow paths) ------------------------------------------------------------- */

/* The process's stream. NULL base: recording is off in this process. */
extern struct stream recorder_stream __attribute__((visibility("hidden")));
/* Its table of call paths. */
extern struct stream_path_table recorder_paths __attribute__((visibility("hidden")));
/* The stream is about to be unmapped: no path is found until recorder_start(). */
void recorder_no_paths(void);

/* Takes over a stream: in the constructor, or in a forked child that made its own. */
void recorder_start(const struct stream *s);

/* Ends recording in this process; the stream stays mapped. For vfork children, exec and
 * failures. */
void recorder_stop(void);
bool recorder_is_on(void);

/* Takes the next tid. Tids follow the order of creation: the creator of a thread claims one for it,
 * which the new thread keeps in `claimed`; if the creator has no tid yet, it first claims its own.
 * recorder_tid_return() gives a tid back if the thread was not created. */
uint32_t recorder_tid_claim(bool helper);
void recorder_tid_return(uint32_t tid);

/* Claims a row for the calling thread; tids of helpers begin at 1000. Sets t->tid, row and cpu. The
 * thread's epoch stays behind, so that the first recorder_active() synchronizes. Repeated calls are
 * safe. Returns false if recording is off. If the table is full, the thread gets a tid, but its
 * index is STREAM_NONE. */
bool recorder_thread_attach(struct recorder_thread *t, bool helper);

/* Closes the thread's chunk and marks its row as ended. */
void recorder_thread_end(struct recorder_thread *t);

/* Hands the current chunk to the writer if it holds anything: at level 2 of MPI_Pcontrol, and
 * before exec. */
void recorder_flush(struct recorder_thread *t);

/* Adds the time since `began` (of clock_ticks()) to the thread's own overhead. */
static inline void recorder_count_own_time(struct recorder_thread *t, uint64_t began)
{
    if (t->row != NULL)
        t->row->own_ticks += clock_ticks() - began;
}

/* Sets the window of this thread. The caller records the edge itself, inside the window. */
static inline void recorder_set_window(struct recorder_thread *t, int32_t ordinal,
                                       uint32_t recording)
{
    t->window = ordinal;
    t->recording = recording;
}

/* Returns room for this many bytes, aligned to 8, until recorder_scratch_give(), or NULL if there
 * is no memory. Uses the mapping of the last call again if it is large enough. */
struct recorder_scratch *recorder_scratch_take(struct recorder_thread *t, size_t bytes);
void recorder_scratch_give(struct recorder_thread *t, struct recorder_scratch *s);
void recorder_scratch_end(struct recorder_thread *t); /* when the thread ends */

/* Call it in the child of fork: forgets the parent's chunk and row. Recording is off until
 * recorder_start(). */
void recorder_after_fork(struct recorder_thread *t);

/* Wakes the writer if it sleeps. */
void recorder_wake_writer(void);

/* Returns the mean cost of one recorder_emit() in ticks, measured on scratch memory (takes about 10
 * µs). */
double recorder_measure_cost(void);

#endif
