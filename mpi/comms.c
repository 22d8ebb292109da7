/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators: numbers, ranks, sizes, and identities that are equal in all ranks of a
 * communicator. Lock-free, no allocation.
 *
 * An identity describes how a communicator was made, which all its ranks know. It combines three
 * values: the identity of the parent; the number of the call among those calls that all ranks of
 * the parent make in the same order (MPI-3.1, 6.4); and the world rank of the communicator's first
 * rank, because one call can make several communicators without common ranks. If not all ranks of
 * the parent make the call (MPI_Comm_create_group), or if it joins two communicators
 * (MPI_Intercomm_create), this file counts the calls with the same tag and ranks instead. So it
 * notes how each communicator is made, even if nothing is recorded. A communicator has no identity
 * (0) if it was made from one without an identity, between worlds, in a spawned world, or without a
 * world. */
#include "mpi/comm_holders.h"
#include "mpi/comm_table.h"
#include "mpi/library.h"
#include "base/format/event_fields.h"
#include "base/spin.h"
#include "mpi/numbers.h"
#include "mpi/special.h"
#include "mpi/wrapper.h"

#include <sched.h>

/* --- communicators ---------------------------------------------------------------------------- */

#define COMM_MANY 0xffffu
#define COMM_BEING_ASKED 0xfffeu

struct comm_entry mpi_comms[COMM_SLOTS];
static _Atomic uint32_t next_comm = 3;

/* Facts that are seldom needed, in a table of the same order. */
static struct comm_origin {
    _Atomic uint64_t identity; /* 0: not known */
    /* number of calls of all its ranks that made communicators from it */
    _Atomic uint32_t made;
    uint32_t sides;           /* enum mpi_comm_sides */
    _Atomic uint32_t last_id; /* of the communicator that has ended: its receives may be open */
} origins[COMM_SLOTS];

RT_COLD struct comm_entry *comm_find_further(uint64_t comm, bool make)
{
    uint64_t key = comm + 1;
    uint32_t at = comm_place(comm);
    for (uint32_t i = 0; i < COMM_TRIES; i++) {
        struct comm_entry *e = &mpi_comms[(at + i) % COMM_SLOTS];
        uint64_t found = atomic_load_explicit(&e->key, memory_order_acquire);
        if (RT_LIKELY(found == key))
            return e;
        if (found != 0)
            continue;
        if (!make)
            return NULL;
        if (atomic_compare_exchange_strong(&e->key, &found, key) || found == key)
            return e;
    }
    return NULL;
}

/* --- identities ------------------------------------------------------------------------------- */

#define MADE_KEYS 1024u
#define RANKS_AT_ONCE 96

/* Number of communicators made with one tag by the same ranks. owner: the parent's identity, with
 * which the entry ends; 0: it stays. */
static struct made_key {
    _Atomic uint64_t key; /* 0: free */
    uint64_t owner;
    _Atomic uint32_t count;
} made_keys[MADE_KEYS];
static _Atomic uint32_t made_keys_used; /* index after the last entry ever used */

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t not_zero(uint64_t h)
{
    return h != 0 ? h : 1;
}

/* Finds the world rank of a group's first rank and, if hash is not NULL, a hash of all its world
 * ranks. Returns false if not all of them are in this world. */
static bool look_at_group(uint64_t group, uint64_t world, int *first, uint64_t *hash)
{
    const struct mpi_library *l = mpi_library();
    int n = 0, from[RANKS_AT_ONCE], to[RANKS_AT_ONCE];
    if (l->Group_size(group, &n) != 0 || n < 1)
        return false;
    uint64_t h = (uint64_t)n;
    const int wanted = hash != NULL ? n : 1;
    for (int i = 0; i < wanted; i += RANKS_AT_ONCE) {
        const int piece = wanted - i < RANKS_AT_ONCE ? wanted - i : RANKS_AT_ONCE;
        for (int k = 0; k < piece; k++)
            from[k] = i + k;
        if (l->Group_translate_ranks(group, piece, from, world, to) != 0)
            return false;
        if (i == 0)
            *first = to[0];
        for (int k = 0; k < piece; k++) {
            if (to[k] < 0) /* MPI_UNDEFINED */
                return false;
            h = mix(h, (uint64_t)to[k]);
        }
    }
    if (hash != NULL)
        *hash = h;
    return true;
}

struct comm_members {
    uint32_t sides; /* enum mpi_comm_sides */
    int first[2];   /* world ranks; of two groups, the one with the smaller rank comes first */
    uint64_t hash[2];
};

/* Uses PMPI calls that send nothing. */
static bool find_members(uint64_t comm, bool whole, struct comm_members *m)
{
    const struct mpi_library *l = mpi_library();
    uint64_t world = 0, group[2] = {0};
    int inter = 0;
    *m = (struct comm_members){.sides = 0};
    if (l->Comm_group == NULL || l->Comm_remote_group == NULL || l->Group_size == NULL ||
        l->Group_translate_ranks == NULL || l->Group_free == NULL || l->Comm_test_inter == NULL ||
        l->Comm_test_inter(comm, &inter) != 0 || l->Comm_group(mpi_abi.comm_world, &world) != 0)
        return false;
    bool known = true;
    for (int i = 0; i < (inter ? 2 : 1) && known; i++) {
        known =
            (i == 0 ? l->Comm_group(comm, &group[i]) : l->Comm_remote_group(comm, &group[i])) == 0;
        if (!known)
            break;
        known = look_at_group(group[i], world, &m->first[i], whole ? &m->hash[i] : NULL);
        (void)l->Group_free(&group[i]);
    }
    (void)l->Group_free(&world);
    if (inter) {
        m->sides = MPI_COMM_TWO_SIDES | (m->first[0] > m->first[1] ? MPI_COMM_SECOND_SIDE : 0u);
        if (m->first[0] > m->first[1])
            *m = (struct comm_members){
                m->sides, {m->first[1], m->first[0]}, {m->hash[1], m->hash[0]}};
    }
    return known;
}

/* Returns how many were made with this key before, or -1 if there is no room to count them. */
static int64_t count_made(uint64_t key, uint64_t owner)
{
    uint32_t used = atomic_load(&made_keys_used);
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load(&made_keys[i].key) == key)
            return atomic_fetch_add(&made_keys[i].count, 1);
    for (uint32_t i = 0; i < MADE_KEYS; i++) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&made_keys[i].key, &none, key))
            continue;
        made_keys[i].owner = owner;
        atomic_store(&made_keys[i].count, 1);
        while (used < i + 1 && !atomic_compare_exchange_weak(&made_keys_used, &used, i + 1))
            ;
        return 0;
    }
    return -1;
}

/* Forgets the counts of an owner, from which nothing more is made. */
static void forget_made(uint64_t owner)
{
    uint32_t used = owner != 0 ? atomic_load(&made_keys_used) : 0;
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load(&made_keys[i].key) != 0 && made_keys[i].owner == owner)
            atomic_store(&made_keys[i].key, 0);
}

/* Has another world spawned this one? Then world ranks do not identify processes: each world
 * numbers its ranks itself. */
static bool is_spawned(void)
{
    enum { NOT_KNOWN, NO, YES };
    static _Atomic int known;
    int answer = atomic_load(&known);
    if (answer == NOT_KNOWN) {
        const struct mpi_library *l = mpi_library();
        uint64_t parent = 0;
        answer = l->Comm_get_parent == NULL || l->Comm_get_parent(&parent) != 0 ||
                         parent != mpi_abi.comm_null
                     ? YES
                     : NO;
        atomic_store(&known, answer);
    }
    return answer == YES;
}

static uint64_t origin_of(struct comm_origin *o, uint64_t comm)
{
    uint64_t identity = atomic_load(&o->identity);
    if (identity != 0 || (comm != mpi_abi.comm_world && comm != mpi_abi.comm_self) ||
        mpi_world_rank < 0 || is_spawned())
        return identity;
    identity = not_zero(mix((uint64_t)mpi_world_size,
                            comm == mpi_abi.comm_world ? 0 : (uint64_t)mpi_world_rank + 1));
    atomic_store(&o->identity, identity);
    return identity;
}

static uint64_t identity_of_made(struct comm_origin *parent, uint64_t parent_comm, uint64_t comm,
                                 enum mpi_comm_making how, int tag, uint32_t call, uint32_t *sides)
{
    const bool whole = how == MPI_MADE_BY_SOME || how == MPI_MADE_OF_TWO;
    /* One that is not complete yet has the ranks of its parent. */
    const uint64_t members_of = how == MPI_MADE_ALIKE ? parent_comm : comm;
    uint64_t from = how == MPI_MADE_OF_TWO ? 0 : origin_of(parent, parent_comm);
    struct comm_members m;
    if (how == MPI_MADE_SOMEHOW || (from == 0 && how != MPI_MADE_OF_TWO) || mpi_world_rank < 0 ||
        is_spawned() || !find_members(members_of, whole, &m))
        return 0;
    *sides = m.sides;
    uint64_t h = mix(mix(from, (uint64_t)how), m.sides & MPI_COMM_TWO_SIDES);
    for (int i = 0; i < 2; i++)
        h = mix(h, whole ? m.hash[i] : (uint64_t)m.first[i]);
    if (!whole)
        return not_zero(mix(h, call));
    h = not_zero(mix(h, (uint64_t)(uint32_t)tag));
    int64_t n = count_made(h, from);
    return n >= 0 ? not_zero(mix(h, (uint64_t)n + 1)) : 0;
}

/* Only one thread at a time notes that a communicator begins or ends: the library may give the
 * handle of one that has just ended to another thread. Returns the signal mask. */
static spin_lock ends;
static uint64_t take_ends(void)
{
    uint64_t mask = sys_block_signals();
    spin_take(&ends);
    return mask;
}

static void give_ends(uint64_t mask)
{
    spin_give(&ends);
    sys_restore_signals(mask);
}

RT_COLD void mpi_comm_made(uint64_t parent, uint64_t comm, enum mpi_comm_making how, int tag)
{
    struct recorder_thread *t = &recorder_self;
    if (!atomic_load_explicit(&mpi_is_up, memory_order_relaxed))
        return;
    const unsigned own = RT_UNLIKELY(t->counted != 0) && t->recording == 0
                             ? mpi_hooks.own_begin(MPI_OWN_MEASURED)
                             : 0;
    struct comm_entry *of = how != MPI_MADE_SOMEHOW ? comm_find(parent, true) : NULL;
    struct comm_entry *e = comm != mpi_abi.comm_null ? comm_find(comm, true) : NULL;
    uint32_t call = of != NULL && (how == MPI_MADE_BY_ALL || how == MPI_MADE_ALIKE)
                        ? atomic_fetch_add(&origins[of - mpi_comms].made, 1)
                        : 0;
    if (e != NULL) {
        struct comm_origin *o = &origins[e - mpi_comms];
        uint32_t sides = 0;
        t->in_toolkit++;
        uint64_t identity = of == NULL ? 0
                                       : identity_of_made(&origins[of - mpi_comms], parent, comm,
                                                          how, tag, call, &sides);
        t->in_toolkit--;
        uint64_t mask = take_ends();
        atomic_store(&e->valid, true);
        atomic_store(&e->ended, false);
        atomic_store(&e->id, 0); /* a number here means that we missed the handle's end */
        mpi_numbers_begin(e);
        o->sides = sides;
        atomic_store(&o->made, 0);
        atomic_store(&o->identity, identity);
        give_ends(mask);
        mpi_profile_forget();
    }
    MPI_OWN_END(own);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint32_t new_id(uint64_t comm)
{
    if (comm == mpi_abi.comm_world)
        return 1;
    if (comm == mpi_abi.comm_self)
        return 2;
    uint32_t id = atomic_fetch_add(&next_comm, 1);
    if (id < COMM_BEING_ASKED)
        return id;
    atomic_store(&next_comm, COMM_BEING_ASKED);
    return COMM_MANY;
}

/* Asks PMPI for rank and size; for a communicator with two sides, the size of the other side. */
static void ask_comm(struct comm_entry *e, uint64_t comm)
{
    const struct mpi_library *l = mpi_library();
    struct recorder_thread *t = &recorder_self;
    int rank = 0, size = 0, inter = 0;
    t->in_toolkit++;
    if (l->Comm_rank == NULL || l->Comm_rank(comm, &rank) != 0)
        rank = 0;
    if (l->Comm_size == NULL || l->Comm_size(comm, &size) != 0)
        size = 0;
    if (l->Comm_test_inter != NULL && l->Comm_test_inter(comm, &inter) == 0 && inter != 0)
        (void)l->Comm_remote_size(comm, &size);
    t->in_toolkit--;
    e->rank = (uint32_t)rank;
    e->size = (uint32_t)size;
}

void mpi_comm_held(uint64_t comm)
{
    struct comm_entry *e = comm != mpi_abi.comm_null ? comm_find(comm, true) : NULL;
    if (e != NULL && atomic_load(&e->id) == 0)
        ask_comm(e, comm);
}

/* Makes the entry of a communicator that has ended go on under another handle. */
static void keep(const struct comm_entry *ended, uint32_t id, uint64_t kept)
{
    struct comm_entry *e = comm_find(kept, true);
    if (e == NULL)
        return;
    const struct comm_origin *o = &origins[ended - mpi_comms];
    origins[e - mpi_comms].sides = o->sides;
    atomic_store(&origins[e - mpi_comms].identity, atomic_load(&o->identity));
    e->rank = ended->rank;
    e->size = ended->size;
    atomic_store(&e->collectives, atomic_load(&ended->collectives));
    atomic_store(&e->told, atomic_load(&ended->told));
    atomic_store(&e->valid, true);
    atomic_store(&e->id, id);
}

/* Waits for the thread that asks MPI about the communicator. Its calls do not wait for us; but it
 * may have been killed. */
static uint32_t id_by_another(struct comm_entry *e)
{
    for (int i = 0; i < 100000; i++) {
        uint32_t id = atomic_load_explicit(&e->id, memory_order_acquire);
        if (id != COMM_BEING_ASKED && id != 0)
            return id;
        (void)sched_yield();
    }
    return COMM_MANY;
}

RT_COLD static uint32_t comm_describe(struct recorder_thread *t, struct comm_entry *e,
                                      uint64_t comm, uint32_t parent)
{
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&e->id, &none, COMM_BEING_ASKED))
        return none == COMM_BEING_ASKED ? id_by_another(e) : none;
    struct comm_origin *o = &origins[e - mpi_comms];
    if (!comm_is_kept(comm))
        ask_comm(e, comm);
    t->in_toolkit++;
    const uint64_t more[3] = {origin_of(o, comm), o->sides, 0};
    t->in_toolkit--;
    uint32_t id = new_id(comm);
    atomic_store_explicit(&e->id, id, memory_order_release);
    if (id != COMM_MANY)
        (void)recorder_emit_long(
            t, EV_MPI_COMM,
            EVENT_PUT(EV_MPI_COMM, comm, id) | EVENT_PUT(EV_MPI_COMM, rank, e->rank),
            EVENT_PUT(EV_MPI_COMM, size, e->size) | EVENT_PUT(EV_MPI_COMM, parent, parent), more,
            1);
    return id;
}

/* Returns the number of a communicator that is known to be valid. */
static uint32_t id_of_valid(struct recorder_thread *t, uint64_t comm)
{
    struct comm_entry *e = comm_find(comm, true);
    if (RT_UNLIKELY(e == NULL))
        return COMM_MANY;
    uint32_t id = atomic_load_explicit(&e->id, memory_order_acquire);
    if (RT_LIKELY(id != 0 && id != COMM_BEING_ASKED))
        return id;
    return comm_describe(t, e, comm, 0);
}

/* May we ask MPI about this handle? MPI calls the program's error handler for an invalid handle,
 * and only the program's own calls may cause that. */
static bool is_valid(uint64_t comm)
{
    if (comm == mpi_abi.comm_world || comm == mpi_abi.comm_self)
        return mpi_world_size > 0;
    const struct comm_entry *e = comm_find(comm, false);
    return e != NULL && atomic_load(&e->valid) &&
           atomic_load_explicit(&mpi_is_up, memory_order_relaxed);
}

/* Looks further if the handle's first table slot does not hold its number. */
RT_COLD static uint32_t comm_id_slow(struct recorder_thread *t, uint64_t comm)
{
    return comm != mpi_abi.comm_null && is_valid(comm) ? id_of_valid(t, comm) : 0;
}

RT_COLD uint32_t mpi_comm_proved(struct recorder_thread *t, uint64_t comm)
{
    if (comm == mpi_abi.comm_null || !atomic_load_explicit(&mpi_is_up, memory_order_relaxed))
        return 0;
    struct comm_entry *e = comm_find(comm, true);
    if (e != NULL && atomic_load(&e->ended))
        return 0;
    if (e != NULL)
        atomic_store(&e->valid, true);
    return id_of_valid(t, comm);
}

/* The null communicator never has an entry, so the common path need not check for it. */
uint32_t mpi_comm_id(struct recorder_thread *t, uint64_t comm)
{
    struct comm_entry *e = &mpi_comms[comm_place(comm)];
    if (RT_LIKELY(atomic_load_explicit(&e->key, memory_order_acquire) == comm + 1)) {
        uint32_t id = atomic_load_explicit(&e->id, memory_order_acquire);
        if (RT_LIKELY(id != 0 && id != COMM_BEING_ASKED))
            return id;
    }
    return comm_id_slow(t, comm);
}

RT_COLD uint64_t mpi_comm_later(struct recorder_thread *t, uint64_t comm)
{
    return mpi_bytes_comm(0, mpi_comm_proved(t, comm));
}

void mpi_comm_created(struct recorder_thread *t, uint64_t comm, uint32_t parent)
{
    if (comm == mpi_abi.comm_null)
        return;
    struct comm_entry *e = comm_find(comm, true);
    if (e == NULL)
        return;
    (void)comm_describe(t, e, comm, parent);
}

uint32_t mpi_comm_times_made(uint64_t comm)
{
    struct comm_entry *e = comm_find(comm, false);
    return e != NULL ? atomic_load(&e->made) : 0;
}

void mpi_comm_freed(uint64_t comm, uint32_t made)
{
    struct comm_entry *e = comm_find(comm, false);
    if (e == NULL)
        return;
    uint64_t mask = take_ends();
    if (atomic_load(&e->made) == made) {
        uint32_t id = atomic_load(&e->id);
        id = id != COMM_BEING_ASKED ? id : 0;
        const uint64_t kept = mpi_holders_keep(comm);
        if (kept != 0)
            keep(e, id, kept);
        forget_made(atomic_exchange(&origins[e - mpi_comms].identity, 0));
        atomic_store(&e->valid, false);
        atomic_store(&e->ended, true);
        atomic_store(&e->id, 0);
        atomic_store(&origins[e - mpi_comms].last_id, id);
        mpi_profile_forget();
    }
    give_ends(mask);
}

RT_COLD uint32_t mpi_comm_last_id(const struct comm_entry *e)
{
    return atomic_load(&e->ended) ? atomic_load(&origins[e - mpi_comms].last_id) : 0;
}

uint32_t mpi_known_size(uint64_t comm)
{
    struct comm_entry *e = comm_find(comm, false);
    return e != NULL && atomic_load_explicit(&e->id, memory_order_acquire) != 0 ? e->size : 0;
}

uint32_t mpi_known_rank(uint64_t comm)
{
    struct comm_entry *e = comm_find(comm, false);
    return e != NULL && atomic_load_explicit(&e->id, memory_order_acquire) != 0 ? e->rank : 0;
}

void mpi_after_fork(void)
{
    for (uint32_t i = 0; i < COMM_SLOTS; i++) {
        atomic_store(&mpi_comms[i].id, 0);
        atomic_store(&origins[i].last_id, 0);
    }
    atomic_store(&next_comm, 3);
}
