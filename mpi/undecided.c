/* SPDX-License-Identifier: BSD-3-Clause
 * The receives whose numbers depend on receives that are still open.
 *
 * The list has the order of posting. It holds open receives from any source or with any tag, and
 * later receives that could belong to the same key. An entry gets its number when no open entry
 * before it can belong to its key any more. */
#include "base/spin.h"
#include "mpi/number_keys.h"
#include "mpi/wrapper.h"

#include <string.h>

#define ENTRIES 1024u
#define BATCH 16u /* few, because the stack may be small */

_Atomic uint64_t mpi_undecided;

enum entry_state {
    OPEN,     /* has got no message yet */
    RECEIVED, /* source and tag are those of its message */
    NUMBERED  /* open; it has its number */
};
struct entry {
    uint64_t place; /* identifies it */
    uint32_t comm;
    int32_t source, tag; /* NUMBER_ANY: not known yet */
    enum entry_state state;
    bool is_cancelling; /* open, and it may get no message */
    bool in_doubt;      /* the same, and later receives have numbers already */
    bool recorded;      /* a window has its completion, without the number */
    mpi_number number;
};
static struct entry list[ENTRIES];
static uint32_t count;
static uint64_t last_place;
static spin_lock lock;

/* A handler of the program that interrupts us must not wait for the lock: its MPI calls are not
 * numbered. */
static bool take_lock(void)
{
    bool concurrent = atomic_load_explicit(&mpi_concurrent, memory_order_relaxed);
    recorder_self.in_toolkit++;
    if (concurrent)
        spin_take(&lock);
    return concurrent;
}

static void give_lock(bool taken)
{
    if (taken)
        spin_give(&lock);
    recorder_self.in_toolkit--;
}

void mpi_undecided_add(int64_t n)
{
    if (atomic_load_explicit(&mpi_concurrent, memory_order_relaxed))
        atomic_fetch_add(&mpi_undecided, (uint64_t)n);
    else
        atomic_store_explicit(&mpi_undecided,
                              atomic_load_explicit(&mpi_undecided, memory_order_relaxed) +
                                  (uint64_t)n,
                              memory_order_relaxed);
}

static bool may_share_key(const struct entry *a, const struct entry *b)
{
    return a->comm == b->comm &&
           (a->source == b->source || a->source == NUMBER_ANY || b->source == NUMBER_ANY) &&
           (a->tag == b->tag || a->tag == NUMBER_ANY || b->tag == NUMBER_ANY);
}

static bool depends(const struct entry *e, uint32_t before)
{
    for (uint32_t i = 0; i < before; i++)
        if (list[i].state != NUMBERED && may_share_key(&list[i], e))
            return true;
    return false;
}

static void take_out(uint32_t i)
{
    count--;
    if (i < count)
        memmove(&list[i], &list[i + 1], (count - i) * sizeof *list);
    mpi_undecided_add(-1);
}

/* Numbers what can be numbered. Takes received ones out of the list: puts up to BATCH recorded ones
 * into `out`, and returns how many; sets *number if `own` is among the others. */
static uint32_t decide(struct entry out[BATCH], uint64_t own, mpi_number *number)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count && n < BATCH; i++) {
        struct entry *e = &list[i];
        if (e->state == NUMBERED || (e->state == OPEN && e->is_cancelling) ||
            e->source == NUMBER_ANY || e->tag == NUMBER_ANY || depends(e, i))
            continue;
        e->number = number_take_receive(e->comm, e->source, e->tag);
        if (e->state == OPEN) {
            e->state = NUMBERED;
            continue;
        }
        if (e->place == own)
            *number = e->number;
        else if (e->recorded)
            out[n++] = *e;
        take_out(i--);
    }
    return n;
}

static void tell_later(const struct entry *e, uint32_t n)
{
    struct recorder_thread *t = &recorder_self;
    if (n == 0 || !recorder_is_on() || (!recorder_active(t) && t->row == NULL))
        return;
    for (uint32_t i = 0; i < n; i++)
        (void)recorder_emit(t, EV_MPI_NUMBER_LATER, e[i].place, number_value(e[i].number));
}

/* Numbers what can be numbered after a receive has left the list. Gives the lock back. */
static void decide_all(bool taken)
{
    struct entry out[BATCH];
    uint32_t n;
    while ((n = decide(out, 0, NULL)) == BATCH) {
        give_lock(taken);
        tell_later(out, n);
        taken = take_lock();
    }
    give_lock(taken);
    tell_later(out, n);
}

static struct entry *find(mpi_number n)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].place == (n & ~NUMBER_UNDECIDED))
            return &list[i];
    return NULL;
}

mpi_number undecided_post(uint32_t comm, int32_t source, int32_t tag, bool is_cancelling)
{
    struct entry e = {
        .comm = comm, .source = source, .tag = tag, .state = OPEN, .is_cancelling = is_cancelling};
    mpi_number n = NUMBER_LOST;
    bool taken = take_lock();
    if (!is_cancelling && source != NUMBER_ANY && tag != NUMBER_ANY && !depends(&e, count)) {
        n = number_take_receive(comm, source, tag);
    } else if (count == ENTRIES) {
        number_lose_receives(comm);
    } else {
        e.place = ++last_place;
        n = NUMBER_UNDECIDED | e.place;
        /* A receive that had a number was posted before all in the list that may share its key. */
        uint32_t at = is_cancelling ? 0 : count;
        if (at < count)
            memmove(&list[at + 1], &list[at], (count - at) * sizeof *list);
        list[at] = e;
        count++;
        mpi_undecided_add(1);
    }
    give_lock(taken);
    return n;
}

/* Records in a window that the number follows. */
static bool mark(const struct entry *e)
{
    struct recorder_thread *t = &recorder_self;
    uint32_t id = number_comm_id(t, e->comm);
    (void)recorder_emit(t, EV_MPI_RECEIVE_NUMBER,
                        mpi_peer_tag((uint32_t)e->source, (uint32_t)e->tag),
                        EVENT_PUT(EV_MPI_RECEIVE_NUMBER, number, e->place) |
                            EVENT_PUT(EV_MPI_RECEIVE_NUMBER, later, 1) |
                            EVENT_PUT(EV_MPI_RECEIVE_NUMBER, comm, id));
    return true;
}

mpi_number undecided_received(mpi_number n, int32_t source, int32_t tag, bool recorded)
{
    struct entry out[BATCH];
    mpi_number number = NO_NUMBER;
    bool taken = take_lock();
    struct entry *e = find(n);
    if (e == NULL) {
        give_lock(taken);
        return NUMBER_LOST;
    }
    if (e->state == NUMBERED) {
        number = e->number;
        if (e->in_doubt)
            number_doubt(number, false);
        take_out((uint32_t)(e - list));
        give_lock(taken);
        return number;
    }
    if (count == 1) { /* the common case */
        number = number_take_receive(e->comm, source, tag);
        take_out(0);
        give_lock(taken);
        return number;
    }
    e->source = source;
    e->tag = tag;
    e->state = RECEIVED;
    uint32_t told = decide(out, e->place, &number);
    if (number == NO_NUMBER) {
        number = n;
        if ((e = find(n)) != NULL)
            e->recorded = recorded && mark(e);
    }
    give_lock(taken);
    tell_later(out, told);
    if (told == BATCH)
        decide_all(take_lock());
    return number;
}

void undecided_cancelling(mpi_number n)
{
    bool taken = take_lock();
    struct entry *e = find(n);
    if (e != NULL && e->state == NUMBERED && number_give_back(e->number)) {
        e->state = OPEN;
        e->is_cancelling = true;
    } else if (e != NULL && e->state == NUMBERED) {
        number_doubt(e->number, true);
        e->in_doubt = true;
    } else if (e != NULL && e->state == OPEN) {
        e->is_cancelling = true;
    }
    give_lock(taken);
}

void undecided_remove(mpi_number n, bool unknown)
{
    bool taken = take_lock();
    const struct entry *e = find(n);
    if (e != NULL) {
        /* Of one in doubt, the key has no numbers any more. */
        if (e->state == NUMBERED && !unknown && !e->in_doubt && !number_give_back(e->number))
            number_lose(e->number);
        if (e->state != NUMBERED && unknown)
            number_lose_receives(e->comm);
        take_out((uint32_t)(e - list));
    }
    decide_all(taken);
}
