/* SPDX-License-Identifier: BSD-3-Clause
 * Counts messages by key in a hash table of fixed size. Lock-free, no allocation. */
#include "mpi/numbers.h"

#include "mpi/number_keys.h"
#include "mpi/wrapper.h"

#define KEY_BITS 14
#define KEYS (1u << KEY_BITS) /* only used entries take memory */
#define KEY_TRIES 16u
#define CLAIMED UINT32_MAX
#define RECEIVES (1u << 31)
#define HANDLE_BITS 13 /* of a communicator: index of its entry + 1; above: times it was made */
#define MADE_BITS 18
#define LOST (UINT64_C(1) << 63) /* in a count */
#define NUMBER_BITS 48
#define NUMBER_MASK NUMBER_LOST /* in an mpi_number: number + 1; all: lost */

_Static_assert(NUMBER_MASK == (UINT64_C(1) << NUMBER_BITS) - 1, "the low bits");
_Static_assert(COMM_SLOTS < 1u << HANDLE_BITS, "indices fit");
_Static_assert(KEYS < 1u << (63 - NUMBER_BITS), "indices fit below NUMBER_UNDECIDED");

struct number_key {
    _Atomic uint64_t peer_tag;
    _Atomic uint32_t comm; /* number_comm() and the direction; 0: free */
    _Atomic uint64_t count;
    /* What a reader of the thread that recorded last knows: hash of thread and window << 32 | the
     * number that it takes the key's next event to have. */
    _Atomic uint64_t told; /* of a partitioned key: number_calls() */
};
#define PARTITIONED_KEY ((uint64_t)NUMBER_PARTITIONED_TAG << 32) /* in peer_tag */
static struct number_key keys[KEYS + 1];                         /* 0 is NUMBER_LOST's */
static _Atomic bool had_no_room; /* a new key may have been used before */

uint32_t mpi_numbering;
_Atomic uint64_t mpi_messages_unnumbered;

static bool are_concurrent(void)
{
    return atomic_load_explicit(&mpi_concurrent, memory_order_relaxed);
}

void number_count_unnumbered(void)
{
    atomic_fetch_add_explicit(&mpi_messages_unnumbered, 1, memory_order_relaxed);
}

static mpi_number no_room(void)
{
    number_count_unnumbered();
    return NUMBER_LOST;
}

/* Adds 1; returns the count before. */
__attribute__((always_inline)) static inline uint64_t count_one(_Atomic uint64_t *count)
{
    if (are_concurrent())
        return atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    uint64_t n = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, n + 1, memory_order_relaxed);
    return n;
}

uint32_t mpi_windows_possible = 1;

void mpi_numbering_begin(void)
{
    static bool begun; /* a process may begin sessions after MPI_Init */
    if (!begun)
        mpi_numbering = mpi_recorded != 0 &&
                        atomic_load_explicit(&mpi_asleep, memory_order_relaxed) == 0 &&
                        mpi_windows_possible != 0 &&
                        /* To leave our own instructions out of the count takes 1 us a call. */
                        (recorder_self.counted & RECORDER_COUNTED_INSTRUCTIONS) == 0;
    begun = true;
    (void)comm_find(mpi_abi.comm_world, true);
    (void)comm_find(mpi_abi.comm_self, true);
}

/* --- communicators ---------------------------------------------------------------------------- */

uint32_t number_comm(const struct comm_entry *e)
{
    uint32_t made = atomic_load_explicit(&e->made, memory_order_relaxed);
    return (uint32_t)(e - mpi_comms + 1) | (made & ((1u << MADE_BITS) - 1)) << HANDLE_BITS;
}

struct comm_entry *number_comm_entry(uint32_t comm)
{
    comm &= ~RECEIVES;
    struct comm_entry *e = &mpi_comms[(comm & ((1u << HANDLE_BITS) - 1)) - 1];
    return number_comm(e) == comm ? e : NULL;
}

void mpi_numbers_begin(struct comm_entry *e)
{
    atomic_fetch_add(&e->made, 1);
    atomic_store(&e->receives_lost, false);
    atomic_store(&e->collectives, 0);
    atomic_store(&e->told, 0);
}

uint32_t number_comm_id(struct recorder_thread *t, uint32_t comm)
{
    const struct comm_entry *e = number_comm_entry(comm);
    uint32_t id = e != NULL ? mpi_comm_id(t, atomic_load(&e->key) - 1) : 0;
    if (e != NULL && id == 0)
        id = mpi_comm_last_id(e);
    return id != 0xffff ? id : 0;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Peers in a row have places in a row, so that few pages are used. */
static uint32_t place_of(uint32_t comm, int32_t peer, int32_t tag)
{
    uint64_t h = (uint64_t)comm << 32 | (uint32_t)tag;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    /* RECEIVES, the first bit of `comm`, changes the first bit alone: sends and receives do not
     * share places. */
    return (uint32_t)(h >> (64 - KEY_BITS)) + (uint32_t)peer;
}

static bool is_over(uint32_t comm)
{
    const struct comm_entry *e = number_comm_entry(comm);
    return e == NULL || atomic_load(&e->ended);
}

/* Fills in an entry that the caller has claimed. */
static struct number_key *begin_key(struct number_key *k, uint32_t comm, uint64_t peer_tag)
{
    const struct comm_entry *e = number_comm_entry(comm);
    bool lost = (comm & RECEIVES) != 0 && (peer_tag & PARTITIONED_KEY) == 0 && e != NULL &&
                atomic_load(&e->receives_lost);
    atomic_store_explicit(&k->peer_tag, peer_tag, memory_order_relaxed);
    atomic_store_explicit(&k->count, lost ? LOST : 0, memory_order_relaxed);
    atomic_store_explicit(&k->told, 0, memory_order_relaxed);
    atomic_store_explicit(&k->comm, comm, memory_order_release);
    return k;
}

RT_COLD static struct number_key *make_key(uint32_t comm, int32_t peer, int32_t tag)
{
    uint64_t peer_tag = mpi_peer_tag((uint32_t)peer, (uint32_t)tag);
    uint32_t at = place_of(comm, peer, tag);
    if (atomic_load(&had_no_room))
        return NULL;
    for (uint32_t i = 0; i < 2 * KEY_TRIES; i++) {
        struct number_key *k = &keys[((at + i % KEY_TRIES) & (KEYS - 1)) + 1];
        uint32_t of = atomic_load_explicit(&k->comm, memory_order_acquire);
        while (of == CLAIMED)
            of = atomic_load_explicit(&k->comm, memory_order_acquire);
        if (of == comm && atomic_load_explicit(&k->peer_tag, memory_order_relaxed) == peer_tag)
            return k;
        /* First free entries, then those of communicators that are over. */
        if ((of == 0 || (i >= KEY_TRIES && is_over(of))) &&
            atomic_compare_exchange_strong(&k->comm, &of, CLAIMED))
            return begin_key(k, comm, peer_tag);
    }
    atomic_store(&had_no_room, true);
    return NULL;
}

static struct number_key *key_further(uint32_t comm, int32_t peer, int32_t tag)
{
    uint64_t peer_tag = mpi_peer_tag((uint32_t)peer, (uint32_t)tag);
    uint32_t at = place_of(comm, peer, tag);
    for (uint32_t i = 1; i < KEY_TRIES; i++) {
        struct number_key *k = &keys[((at + i) & (KEYS - 1)) + 1];
        uint32_t of = atomic_load_explicit(&k->comm, memory_order_acquire);
        if (RT_LIKELY(of == comm &&
                      atomic_load_explicit(&k->peer_tag, memory_order_relaxed) == peer_tag))
            return k;
        if (of == 0)
            break;
    }
    return make_key(comm, peer, tag);
}

__attribute__((always_inline)) static inline struct number_key *key_of(uint32_t comm, int32_t peer,
                                                                       int32_t tag)
{
    uint64_t peer_tag = mpi_peer_tag((uint32_t)peer, (uint32_t)tag);
    struct number_key *k = &keys[(place_of(comm, peer, tag) & (KEYS - 1)) + 1];
    if (RT_LIKELY(atomic_load_explicit(&k->comm, memory_order_acquire) == comm &&
                  atomic_load_explicit(&k->peer_tag, memory_order_relaxed) == peer_tag))
        return k;
    return key_further(comm, peer, tag);
}

static mpi_number take(struct number_key *k)
{
    if (RT_UNLIKELY(k == NULL))
        return no_room();
    uint64_t n = count_one(&k->count), key = (uint64_t)(k - keys) << NUMBER_BITS;
    return key | ((n & LOST) != 0 ? NUMBER_MASK : (n + 1) & NUMBER_MASK);
}

mpi_number number_take_send(uint32_t comm, int32_t dest, int32_t tag)
{
    return take(key_of(comm, dest, tag));
}

mpi_number number_take_receive(uint32_t comm, int32_t source, int32_t tag)
{
    return take(key_of(comm | RECEIVES, source, tag));
}

static struct number_key *key_at(mpi_number n)
{
    return &keys[n >> NUMBER_BITS];
}

_Atomic uint64_t *number_calls(mpi_number n)
{
    return &key_at(n)->told;
}

bool number_give_back(mpi_number n)
{
    uint64_t number = n & NUMBER_MASK; /* the count that follows it */
    return number == NUMBER_MASK ||
           atomic_compare_exchange_strong(&key_at(n)->count, &number, number - 1);
}

void number_lose(mpi_number n)
{
    atomic_fetch_or(&key_at(n)->count, LOST);
    number_count_unnumbered();
}

void number_doubt(mpi_number n, bool begins)
{
    if (begins)
        atomic_fetch_or(&key_at(n)->count, LOST);
    else
        atomic_fetch_and(&key_at(n)->count, ~LOST);
}

void number_lose_receives(uint32_t comm)
{
    struct comm_entry *e = number_comm_entry(comm);
    if (e != NULL)
        atomic_store(&e->receives_lost, true);
    for (uint32_t i = 1; i <= KEYS; i++)
        if (atomic_load(&keys[i].comm) == (comm | RECEIVES) &&
            (atomic_load(&keys[i].peer_tag) & PARTITIONED_KEY) == 0)
            atomic_fetch_or(&keys[i].count, LOST);
    number_count_unnumbered();
}

void number_key_of(mpi_number n, uint32_t *comm, int32_t *peer, int32_t *tag)
{
    uint64_t peer_tag = atomic_load(&key_at(n)->peer_tag);
    *comm = atomic_load(&key_at(n)->comm) & ~RECEIVES;
    *peer = (int32_t)EV_MPI_ENTER_peer(peer_tag, 0);
    *tag = (int32_t)EV_MPI_ENTER_tag(peer_tag, 0);
}

uint64_t number_value(mpi_number n)
{
    uint64_t number = n & NUMBER_MASK;
    bool lost = n == NO_NUMBER || number == NUMBER_MASK ||
                (atomic_load_explicit(&key_at(n)->count, memory_order_relaxed) & LOST) != 0;
    return lost ? EVENT_NO_NUMBER : number - 1;
}

/* --- sends and receives ----------------------------------------------------------------------- */

/* Instruction counts leave our own instructions out; how many they are depends on the tables. */
static unsigned own_begin(const struct recorder_thread *t)
{
    return RT_UNLIKELY(t->counted != 0) && t->recording == 0 ? mpi_hooks.own_begin(MPI_OWN_MEASURED)
                                                             : 0;
}

mpi_number mpi_number_send(uint64_t comm, int dest, int tag)
{
    if (RT_UNLIKELY(mpi_numbering == 0) || dest == mpi_abi.proc_null)
        return NO_NUMBER;
    const unsigned own = own_begin(&recorder_self);
    struct comm_entry *e = comm_find(comm, true);
    mpi_number n = e != NULL ? number_take_send(number_comm(e), dest, tag) : no_room();
    MPI_OWN_END(own);
    return n;
}

void mpi_number_lost(mpi_number n)
{
    if (n != NO_NUMBER && (n & NUMBER_UNDECIDED) == 0)
        number_lose(n);
}

void mpi_number_unsent(mpi_number n)
{
    if (n != NO_NUMBER && !number_give_back(n))
        number_lose(n);
}

static mpi_number receive(uint64_t comm, int source, int tag, bool now)
{
    if (RT_UNLIKELY(mpi_numbering == 0) || source == mpi_abi.proc_null)
        return NO_NUMBER;
    const unsigned own = own_begin(&recorder_self);
    struct comm_entry *e = comm_find(comm, true);
    mpi_number n;
    bool any = source == mpi_abi.any_source || tag == mpi_abi.any_tag;
    bool alone = (uint32_t)atomic_load_explicit(&mpi_undecided, memory_order_relaxed) == 0;
    if (e == NULL)
        n = no_room();
    else if (RT_LIKELY(!any && alone))
        n = number_take_receive(number_comm(e), source, tag);
    else if (now && alone && !are_concurrent())
        n = NUMBER_UNDECIDED;
    else
        n = undecided_post(number_comm(e), (int32_t)mpi_peer((mpi_word)(int64_t)source),
                           (int32_t)mpi_tag((mpi_word)(int64_t)tag), false);
    MPI_OWN_END(own);
    return n;
}

mpi_number mpi_number_receive(uint64_t comm, int source, int tag)
{
    return receive(comm, source, tag, false);
}

mpi_number mpi_number_receive_now(uint64_t comm, int source, int tag)
{
    return receive(comm, source, tag, true);
}

mpi_number mpi_number_received(uint64_t comm, mpi_number n, int source, int tag, bool recorded)
{
    if ((n & NUMBER_UNDECIDED) == 0)
        return n;
    if (source == mpi_abi.proc_null) {
        mpi_number_unposted(n);
        return NO_NUMBER;
    }
    if (n != NUMBER_UNDECIDED)
        return undecided_received(n, source, tag, recorded);
    const struct comm_entry *e = comm_find(comm, false);
    return e != NULL ? number_take_receive(number_comm(e), source, tag) : no_room();
}

void mpi_number_unposted(mpi_number n)
{
    if ((n & NUMBER_UNDECIDED) == 0)
        mpi_number_unsent(n);
    else if (n != NUMBER_UNDECIDED)
        undecided_remove(n, false);
}

void mpi_number_freed(mpi_number n)
{
    if ((n & NUMBER_UNDECIDED) != 0)
        undecided_remove(n, true);
}

/* --- recording -------------------------------------------------------------------------------- */

/* A reader loses count where events were dropped. */
static uint64_t reader_of(const struct recorder_thread *t)
{
    uint64_t h = (uint64_t)t->tid << 32 ^ (uint32_t)t->window;
    if (t->row != NULL)
        h ^= atomic_load_explicit(&t->row->dropped, memory_order_relaxed) << 44;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return (h >> 32 | 1) << 32;
}

/* Returns whether a reader knows the number already; notes that it knows the next one then. */
__attribute__((always_inline)) static inline bool
is_known(struct recorder_thread *t, _Atomic uint64_t *told, uint64_t number, bool always)
{
    uint64_t reader = reader_of(t), expected = reader | (uint32_t)number;
    uint64_t next = reader | (uint32_t)(number + (number != EVENT_NO_NUMBER));
    if (are_concurrent()) {
        if (!always && atomic_compare_exchange_strong(told, &expected, next))
            return true;
        atomic_store(told, next);
        return false;
    }
    bool known = !always && atomic_load_explicit(told, memory_order_relaxed) == expected;
    atomic_store_explicit(told, next, memory_order_relaxed);
    return known;
}

void number_record(struct recorder_thread *t, uint32_t code, uint32_t comm, uint64_t peer_tag,
                   uint64_t number)
{
    if (comm == 0) /* those of its key go on */
        (void)recorder_emit(t, code, mpi_peer_tag(MPI_NOBODY, MPI_NOBODY),
                            EVENT_PUT(EV_MPI_SEND_NUMBER, number, EVENT_NO_NUMBER));
    else
        (void)recorder_emit(t, code, peer_tag,
                            EVENT_PUT(EV_MPI_SEND_NUMBER, number, number) |
                                EVENT_PUT(EV_MPI_SEND_NUMBER, comm, comm));
}

static void tell(struct recorder_thread *t, uint32_t code, mpi_number n, bool always)
{
    struct number_key *k = key_at(n);
    uint32_t id = n != NUMBER_LOST ? number_comm_id(t, atomic_load(&k->comm)) : 0;
    uint64_t number = number_value(n);
    if (id == 0 || !is_known(t, &k->told, number, always))
        number_record(t, code, id, atomic_load(&k->peer_tag), number);
}

void mpi_tell_send(struct recorder_thread *t, mpi_number n, bool always)
{
    if (RT_LIKELY(n != NO_NUMBER) && t->recording != 0)
        tell(t, EV_MPI_SEND_NUMBER, n, always);
}

void mpi_tell_receive(struct recorder_thread *t, mpi_number n, bool always)
{
    if (n == NO_NUMBER || t->recording == 0)
        return;
    if ((n & NUMBER_UNDECIDED) == 0) /* else undecided.c has recorded its mark */
        tell(t, EV_MPI_RECEIVE_NUMBER, n, always);
}

RT_COLD static void tell_collective(struct recorder_thread *t, uint64_t comm, uint64_t number)
{
    uint32_t id = mpi_comm_id(t, comm);
    if (id != 0 && id != 0xffff)
        (void)recorder_emit(t, EV_MPI_COLLECTIVE_NUMBER, number, id);
}

/* For counted threads and for new communicators. */
RT_COLD static void number_collective(struct recorder_thread *t, uint64_t comm)
{
    const unsigned own = own_begin(t);
    struct comm_entry *e = comm != mpi_abi.comm_null ? comm_find(comm, true) : NULL;
    uint64_t number = e != NULL ? count_one(&e->collectives) : 0;
    if (e != NULL && t->recording != 0 && !is_known(t, &e->told, number, false))
        tell_collective(t, comm, number);
    MPI_OWN_END(own);
}

void mpi_number_collective(struct recorder_thread *t, uint64_t comm)
{
    struct comm_entry *e = &mpi_comms[comm_place(comm)];
    if (RT_UNLIKELY(t->counted != 0 ||
                    atomic_load_explicit(&e->key, memory_order_relaxed) != comm + 1 ||
                    comm == mpi_abi.comm_null)) {
        number_collective(t, comm);
        return;
    }
    uint64_t number = count_one(&e->collectives);
    if (t->recording != 0 && !is_known(t, &e->told, number, false))
        tell_collective(t, comm, number);
}

void mpi_collective_failed(uint64_t comm, int result)
{
    struct recorder_thread *t = &recorder_self;
    struct comm_entry *e = mpi_numbering != 0 ? comm_find(comm, false) : NULL;
    /* A message that is too long has come all the same. */
    if (e == NULL || mpi_is_truncated(result))
        return;
    uint64_t number = atomic_fetch_sub(&e->collectives, 1) - 1;
    if (t->recording == 0)
        return;
    /* The reader takes the next one to be `number`. */
    (void)is_known(t, &e->told, number - 1, true);
    tell_collective(t, comm, number);
}
