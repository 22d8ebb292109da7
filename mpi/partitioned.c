/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers of partitioned messages.
 *
 * Partitioned requests of one communicator, sender, receiver and tag are paired in the order of the
 * calls that make them (MPI-4.0, 4.2), apart from all other messages and without wildcards. A pair
 * stays together: the n-th start of the one belongs to the n-th start of the other. So the order of
 * the request and the count of its starts identify a message at both ends.
 *
 * The number has bit 46, which no other number has. Below that it holds, from the left: the number
 * of bits of the order (6 bits), these bits, and the count in the rest of 40 bits. So a request
 * that is made once has room for 2^40 starts, and a key for as many requests as 32 bits count. */
#include "mpi/number_keys.h"
#include "mpi/wrapper.h"

#define LENGTH_SHIFT 40
#define ORDER_BITS 32u

_Static_assert(EVENT_PARTITIONED == UINT64_C(1) << 46, "as mpi_is_partitioned() has it");

/* Returns how many bits of the number count the starts. */
static unsigned start_bits(mpi_number n)
{
    return LENGTH_SHIFT - (unsigned)(n >> LENGTH_SHIFT & 0x3f);
}

/* Returns the number before the first start, or NO_NUMBER. */
static mpi_number number_of(uint64_t order)
{
    if (order >> ORDER_BITS != 0) /* also if it has no place in its key */
        return NO_NUMBER;
    unsigned bits = order != 0 ? 64 - (unsigned)__builtin_clzll(order) : 0;
    return EVENT_PARTITIONED | (uint64_t)bits << LENGTH_SHIFT | order << (LENGTH_SHIFT - bits);
}

void mpi_partitioned_lost(void)
{
    atomic_fetch_add_explicit(&mpi_messages_unnumbered, 1, memory_order_relaxed);
}

/* If two threads make requests of one key at once, nobody knows which comes first. A key's word has
 * in its low half how many such calls are under way, and in its high half how many have begun while
 * another was. */
static uint64_t begin_call(_Atomic uint64_t *calls)
{
    uint64_t before = atomic_load(calls), now;
    do
        now = before + 1 + ((uint32_t)before != 0 ? UINT64_C(1) << 32 : 0);
    while (!atomic_compare_exchange_weak(calls, &before, now));
    return before;
}

/* Returns whether the call that began when the word was `began` was alone. */
static bool end_call(_Atomic uint64_t *calls, uint64_t began)
{
    uint64_t now = atomic_fetch_sub(calls, 1);
    return (uint32_t)began == 0 && now >> 32 == began >> 32;
}

struct mpi_partitioned mpi_partitioned_begin(uint64_t comm, int peer, int tag, bool a_send)
{
    struct mpi_partitioned p = {.number = NO_NUMBER, .order = NO_NUMBER};
    if (mpi_numbering == 0 || peer == mpi_abi.proc_null)
        return p;
    const struct comm_entry *e = comm_find(comm, true);
    p.order = NUMBER_LOST;
    if (e != NULL) {
        p.comm = number_comm(e);
        p.peer = peer;
        p.tag = tag;
        const int32_t of_key = (int32_t)((uint32_t)tag | NUMBER_PARTITIONED_TAG);
        p.order = a_send ? number_take_send(p.comm, peer, of_key)
                         : number_take_receive(p.comm, peer, of_key);
        if (p.order != NUMBER_LOST)
            p.others = begin_call(number_calls(p.order));
    } else {
        mpi_partitioned_lost();
    }
    return p;
}

void mpi_partitioned_made(struct mpi_partitioned *p, bool made)
{
    if (p->order == NO_NUMBER || p->order == NUMBER_LOST)
        return;
    bool alone = end_call(number_calls(p->order), p->others);
    if (!made)
        mpi_number_unsent(p->order);
    else if (alone)
        p->number = number_of(number_value(p->order));
    if (made && p->number == NO_NUMBER)
        mpi_partitioned_lost();
}

mpi_number mpi_partitioned_next(mpi_number n)
{
    uint64_t most = (UINT64_C(1) << start_bits(n)) - 1;
    return (n & most) != most ? n + 1 : NO_NUMBER;
}

void mpi_tell_partitioned(struct recorder_thread *t, uint32_t code, const struct mpi_partitioned *p)
{
    number_record(t, code, number_comm_id(t, p->comm),
                  mpi_peer_tag((uint32_t)p->peer, (uint32_t)p->tag), p->number);
}
