/* SPDX-License-Identifier: BSD-3-Clause
 * Takes chunks of a stream in order, makes rows of their slots, and gives them back when the rows
 * are stored. */
#include "writer/drain.h"

#include "base/log.h"
#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKED_NS 2000000000u /* how long an incomplete slot or a gap may block a stream */
#define POSITION_BITS 20       /* bits of the slot number in a position word */

struct candidate {
    uint32_t thread, index;
    uint64_t sequence;
    bool closed;
};

static uint64_t position_word(uint64_t row, uint32_t slot)
{
    return (row + 1) << POSITION_BITS | slot;
}

bool drain_has_events(const struct drain *d, bool open)
{
    for (uint32_t i = 0; i < d->chunk_count; i++) {
        struct chunk_header *c = drain_chunk_header(d, i);
        uint32_t state = atomic_load_explicit(&c->state, memory_order_acquire);
        uint64_t head;
        if (state == CHUNK_CLOSED && atomic_load(&c->used) > 0)
            return true;
        if (open && state == CHUNK_OPEN &&
            drain_slot_complete(chunk_slots(c), chunk_mark(c), &head))
            return true;
    }
    return false;
}

static int by_order(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static uint32_t collect(struct drain *d, enum drain_mode mode, struct candidate *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->chunk_count; i++) {
        struct chunk_header *c = drain_chunk_header(d, i);
        uint32_t state = atomic_load_explicit(&c->state, memory_order_acquire);
        uint64_t head;
        bool closed = state == CHUNK_CLOSED;
        /* The header of an open chunk is valid once a slot of its present generation is complete.
         * Before that, it may still be the header of the previous generation. */
        bool wanted = closed;
        if (state == CHUNK_OPEN && mode == DRAIN_OPEN)
            wanted = drain_slot_complete(chunk_slots(c), chunk_mark(c), &head);
        else if (state == CHUNK_OPEN && mode == DRAIN_FINAL)
            wanted = drain_any_complete(chunk_slots(c), 0, d->chunk_slots, chunk_mark(c));
        if (wanted && !d->chunks[i].done)
            out[n++] = (struct candidate){c->thread, i, c->sequence, closed};
    }
    qsort(out, n, sizeof *out, by_order);
    return n;
}

static void give_back(struct drain *d, uint32_t index)
{
    struct chunk_header *c = drain_chunk_header(d, index);
    uint32_t generation = c->generation + 1;
    c->generation = (generation & 0xffff) == 0 ? generation + 1 : generation;
    __atomic_store_n(&c->position[0], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&c->position[1], 0, __ATOMIC_RELAXED);
    d->chunks[index] = (struct drain_chunk){0};
    atomic_store_explicit(&c->state, CHUNK_FREE, memory_order_release);
    atomic_store(&d->stream->header->chunks_held, 0);
    atomic_fetch_add(&d->stream->header->chunks_freed, 1);
}

static bool all_complete(struct chunk_header *c, uint32_t slots)
{
    uint32_t used = atomic_load(&c->used);
    uint64_t head;
    for (uint32_t i = 0; i < used && i < slots; i++)
        if (!drain_slot_complete(chunk_slots(c) + i, chunk_mark(c), &head))
            return false;
    return true;
}

/* Returns true if captured values of the chunk would be lost if this writer were killed now. */
static bool has_unsaved_values(const struct drain *d, const struct drain_chunk *c,
                               const struct chunk_header *h)
{
    return c->values_end > 0 && d->values != NULL && h->thread < d->thread_capacity &&
           !values_is_saved(d->values, (int32_t)drain_thread_row(d, h->thread)->tid,
                            (struct values_place){h->sequence, c->values_end, 0});
}

/* Gives chunks back whose rows would survive the death of this writer. Returns how many still wait
 * for that. `pressed`: captured values that are in no snapshot yet do not hold a chunk back. */
static uint32_t give_back_stored(struct drain *d, bool final, bool pressed)
{
    uint64_t committed = rankfile_committed(d->file);
    uint32_t freed = 0, held = 0;
    for (uint32_t i = 0; i < d->chunk_count; i++) {
        struct drain_chunk *c = &d->chunks[i];
        if (!c->done)
            continue;
        if (c->row_end > committed ||
            (!pressed && has_unsaved_values(d, c, drain_chunk_header(d, i)))) {
            held++;
            continue;
        }
        /* Code that a signal handler interrupted may fill an incomplete slot very late. Until then,
         * or until the thread ends, no other thread may use the chunk. */
        struct chunk_header *h = drain_chunk_header(d, i);
        if (c->zombie && !final && !all_complete(h, d->chunk_slots) &&
            !(h->thread < d->thread_capacity &&
              atomic_load(&drain_thread_row(d, h->thread)->state) == THREAD_ENDED))
            continue;
        give_back(d, i);
        freed++;
    }
    if (freed > 0 && atomic_load(&d->stream->header->producers_wait) != 0)
        sys_futex_wake(&d->stream->header->chunks_freed, INT_MAX);
    return held;
}

static int commit(struct drain *d, bool tail)
{
    int rc = drain_copy_tables(d, tail);
    if (rc == 0)
        rc = rankfile_commit(d->file, tail);
    if (rc == 0 && d->values != NULL)
        rc = values_process(d->values, false);
    if (rc == 0 && d->values != NULL)
        values_save(d->values, false);
    if (rc == 0 && d->max_bytes != 0 && rankfile_bytes(d->file) >= (int64_t)d->max_bytes)
        d->discard = true;
    return rc;
}

/* First look at a chunk. *from receives the first slot that may not be in the file, c->skip the
 * number of rows from there on that the file has already. */
static void begin_chunk(struct drain *d, struct drain_chunk *c, const struct chunk_header *h,
                        uint32_t *from)
{
    c->begun = true;
    c->window = h->window;
    *from = 0;
    uint64_t word = __atomic_load_n(&h->position[0], __ATOMIC_RELAXED);
    if (!d->resumed || d->resumed_rows == 0 || word == 0)
        return;
    uint64_t row = (word >> POSITION_BITS) - 1, have = d->resumed_rows;
    *from = (uint32_t)(word & ((1u << POSITION_BITS) - 1));
    c->skip = have > row ? have - row : 0;
    /* Rows from `end` on belong to other chunks. An `end` that is not above `row` was written for
     * earlier rows of this chunk: the file has none of these rows yet. */
    uint64_t end = __atomic_load_n(&h->position[1], __ATOMIC_RELAXED);
    uint64_t taken = end > row ? end - row : 0;
    c->skip = c->skip < taken ? c->skip : taken;
}

/* Takes slots, and notes in the chunk's header where this began and ended. If no slot is new, the
 * notes stay: they describe the rows that were stored last. */
static int take_and_mark(struct drain_taking *k, struct chunk_header *h, bool closed)
{
    struct drain *d = k->d;
    uint32_t from = k->c->taken;
    uint64_t head;
    if (from >= k->limit || (!k->holes && !drain_slot_complete(k->slots + from, k->mark, &head)))
        return 0;
    if (!d->resumed)
        __atomic_store_n(&h->position[0], position_word(rankfile_next_row(d->file), from),
                         __ATOMIC_RELEASE);
    int rc = drain_take_slots(k, closed);
    if (!d->resumed) /* before any of these rows is committed */
        __atomic_store_n(&h->position[1], rankfile_next_row(d->file), __ATOMIC_RELEASE);
    return rc;
}

static int take_chunk(struct drain *d, const struct candidate *w, bool holes)
{
    struct drain_chunk *c = &d->chunks[w->index];
    struct chunk_header *h = drain_chunk_header(d, w->index);
    uint32_t used = atomic_load(&h->used);
    struct drain_taking k = {
        .d = d,
        .c = c,
        .t = &d->threads[w->thread],
        .slots = chunk_slots(h),
        .tid = (int32_t)drain_thread_row(d, w->thread)->tid,
        .sequence = w->sequence,
        .limit = w->closed && used < d->chunk_slots ? used : d->chunk_slots,
        .mark = chunk_mark(h),
        .holes = holes,
    };
    int rc = 0;
    if (!c->begun)
        begin_chunk(d, c, h, &k.from);
    else if (c->row_end > rankfile_committed(d->file))
        rc = commit(d, true); /* the next position word must not be ahead of the file */
    if (rc != 0)
        return rc;
    /* The writer was killed while it gave the chunk back: its slots are of the previous generation,
     * and all of them are stored. */
    if (d->resumed && w->closed && !drain_any_complete(k.slots, 0, k.limit, k.mark)) {
        c->done = true;
        k.t->next_sequence = w->sequence + 1;
        return 0;
    }
    if (d->values != NULL)
        values_chunk_begin(d->values, k.tid, w->sequence);
    rc = take_and_mark(&k, h, w->closed);
    if (rc == 0 && d->values != NULL)
        rc = values_chunk_end(d->values, k.tid, (struct values_place){w->sequence, c->taken, 0});
    if (rc == 0 && (w->closed || holes) && (c->taken >= k.limit || holes)) {
        c->done = true;
        k.t->next_sequence = w->sequence + 1;
    }
    return rc;
}

/* Returns true if the chunk may be taken now. A gap in a thread's sequence is passed at the end
 * and, in a damaged stream, after BLOCKED_NS, so that the program does not wait forever. */
static bool in_turn(struct drain *d, const struct candidate *w, enum drain_mode mode, uint64_t now)
{
    struct drain_thread *t = &d->threads[w->thread];
    struct drain_chunk *c = &d->chunks[w->index];
    if (!t->seen && d->resumed)
        t->next_sequence = w->sequence;
    t->seen = true;
    if (w->sequence == t->next_sequence)
        return true;
    if (mode != DRAIN_FINAL) {
        if (c->blocked_since == 0)
            c->blocked_since = now;
        if (now - c->blocked_since < BLOCKED_NS)
            return false;
    }
    d->damaged_chunks += w->sequence > t->next_sequence ? w->sequence - t->next_sequence : 1;
    c->blocked_since = 0;
    return true;
}

static int take_candidate(struct drain *d, const struct candidate *w, enum drain_mode mode,
                          uint64_t now, bool *moved)
{
    struct drain_chunk *c = &d->chunks[w->index];
    if (w->thread >= d->thread_capacity) {
        d->damaged_chunks++;
        c->done = true;
        return 0;
    }
    if (!in_turn(d, w, mode, now))
        return 0;
    uint32_t before = c->taken;
    bool holes = mode == DRAIN_FINAL;
    if (w->closed && c->blocked_since != 0 && now - c->blocked_since >= BLOCKED_NS)
        holes = c->zombie = true;
    int rc = take_chunk(d, w, holes);
    *moved |= c->taken != before || c->done;
    if (rc == 0 && w->closed && !c->done && c->blocked_since == 0)
        c->blocked_since = now;
    if (rc == 0 && d->file->row_count >= SCHEMA_EVENT_CHUNK)
        rc = commit(d, false);
    return rc;
}

/* Returns true if no chunk is free, and if the next step will not free one either: all that are
 * closed were taken or are blocked. */
static bool program_may_wait(const struct drain *d)
{
    for (uint32_t i = 0; i < d->chunk_count; i++) {
        const struct drain_chunk *c = &d->chunks[i];
        uint32_t state =
            atomic_load_explicit(&drain_chunk_header(d, i)->state, memory_order_relaxed);
        if (state == CHUNK_FREE || (state == CHUNK_CLOSED && !c->done && c->blocked_since == 0))
            return false;
    }
    return true;
}

int drain_step(struct drain *d, enum drain_mode mode, bool *moved)
{
    *moved = false;
    struct candidate *list = malloc(d->chunk_count * sizeof *list);
    if (list == NULL)
        return -ENOMEM;
    uint64_t now = clock_monotonic_ns();
    uint32_t n = collect(d, mode, list);
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = take_candidate(d, &list[i], mode, now, moved);
        if (rc == 0 && (i & 7) == 7) {
            rc = d->values != NULL ? values_process(d->values, false) : 0;
            (void)give_back_stored(d, mode == DRAIN_FINAL, false);
            atomic_fetch_add(&d->stream->header->writer_progress, 1);
        }
    }
    free(list);
    if (rc == 0 && mode == DRAIN_OPEN)
        rc = commit(d, true);
    if (rc == 0 && d->values != NULL)
        rc = values_process(d->values, mode == DRAIN_FINAL);
    if (rc == 0) {
        uint32_t held = give_back_stored(d, mode == DRAIN_FINAL, false);
        if (mode != DRAIN_FINAL && held > 0 && (held > d->chunk_count / 2 || program_may_wait(d))) {
            rc = commit(d, true);
            if (rc == 0)
                (void)give_back_stored(d, false, true);
        }
    }
    return rc;
}

/* Returns true if no chunk becomes free unless a thread ends or fills its chunk. */
static bool threads_hold_all(const struct drain *d)
{
    for (uint32_t i = 0; i < d->chunk_count; i++) {
        uint32_t state = atomic_load(&drain_chunk_header(d, i)->state);
        if (state == CHUNK_FREE || (state == CHUNK_CLOSED && !d->chunks[i].zombie))
            return false;
    }
    return true;
}

static void say_held(struct drain *d)
{
    if (!d->said_held)
        log_line(LOG_WARNING, "more threads record than there is shared memory for: some of their "
                              "events are lost (REGTRACE_SHM names another memory file system)");
    d->said_held = true;
}

void drain_add_chunks(struct drain *d, struct stream *s)
{
    struct stream_header *h = s->header;
    uint32_t wanted = atomic_load(&h->producers_wait);
    wanted = wanted != 0 ? wanted : atomic_exchange(&h->chunk_wanted, 0);
    if (wanted == 0 || atomic_load(&h->chunks_held) != 0 || !drain_header_intact(d) ||
        !threads_hold_all(d))
        return;
    for (; wanted > 0 && stream_add_chunk(s) == 0; wanted--)
        d->chunk_count++;
    if (wanted > 0) {
        atomic_store(&h->chunks_held, 1);
        say_held(d);
    }
    atomic_fetch_add(&h->chunks_freed, 1);
    sys_futex_wake(&h->chunks_freed, INT_MAX);
}
