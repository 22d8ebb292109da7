/* SPDX-License-Identifier: BSD-3-Clause
 * Adds MPI calls to the profile in the stream. */
#include "mpi/profile.h"

#include "mpi/site_paths.h"
#include "mpi/wrapper.h"

#include "base/log.h"

/* Communicators from this number on share the last number: a program that makes communicators
 * without end must not fill the table. */
#define COMMS 256u
#define MANY_COMMS 0xffffu

const size_t mpi_profile_bytes = sizeof(struct mpi_profile);

static _Atomic uint32_t generation = 1; /* 0 would fit an unused place */
/* While it is not NULL, all calls belong to this entry, which nobody reads. */
static struct stream_profile *instead;

void mpi_profile_forget(void)
{
    atomic_fetch_add(&generation, 1);
}

void mpi_profile_measure(bool begins)
{
    static struct stream_profile unread;
    instead = begins ? &unread : NULL;
    mpi_profile_forget();
}

/* Adds to a sum that other threads read but do not write; a handler of the thread may add too. */
static inline void add(_Atomic uint64_t *sum, uint64_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__("addq %1, %0" : "+m"(*sum) : "er"(n));
#else
    atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
#endif
}

RT_COLD static void warn_full(void)
{
    static _Atomic bool warned;
    if (!atomic_exchange(&warned, true))
        log_line(LOG_WARNING, "the profile has no room for further call sites: their calls are "
                              "summed up by function");
}

static uint32_t comm_number(struct recorder_thread *t, uint32_t what, uint64_t comm)
{
    const bool proved = (what & MPI_PROFILE_PROVED) != 0;
    uint32_t id = 0;
    switch ((enum mpi_profile_comm)(what >> MPI_PROFILE_KIND & 3)) {
    case MPI_PROFILE_NO_COMM: break;
    case MPI_PROFILE_COMM: id = mpi_comm_of_call(t, comm, proved); break;
    case MPI_PROFILE_HOLDER: id = mpi_holder_comm_id(t, comm); break;
    case MPI_PROFILE_ID: id = (uint32_t)comm; break;
    }
    return id < COMMS ? id : MANY_COMMS;
}

/* Finds the entry in the stream; NULL: there is no room. */
static struct stream_profile *find_entry(struct recorder_thread *t, uint32_t path, uint32_t what,
                                         uint64_t comm)
{
    if (instead != NULL || !recorder_is_on())
        return instead;
    struct stream_profile *e = stream_profile_enter(
        &recorder_stream, t->index, path, (uint16_t)what, (uint16_t)comm_number(t, what, comm));
    if (path != 0 && (e == NULL || e->path == 0))
        warn_full();
    return e;
}

RT_COLD static void count_lost(void)
{
    if (recorder_is_on())
        atomic_fetch_add_explicit(&recorder_stream.header->profile_lost, 1, memory_order_relaxed);
}

static void add_call(struct stream_profile *e, uint64_t ticks, uint64_t bytes)
{
    unsigned power = ticks != 0 ? 63u - (unsigned)__builtin_clzll(ticks) : 0;
    add(&e->calls, 1);
    add(&e->ticks, ticks);
    add(&e->bytes, bytes);
    add(&e->times[power < STREAM_PROFILE_TIMES ? power : STREAM_PROFILE_TIMES - 1], 1);
    if (ticks < atomic_load_explicit(&e->least, memory_order_relaxed))
        atomic_store_explicit(&e->least, ticks, memory_order_relaxed);
    if (ticks > atomic_load_explicit(&e->most, memory_order_relaxed))
        atomic_store_explicit(&e->most, ticks, memory_order_relaxed);
}

/* Where an entry with this key stands, if it is known. */
static inline struct mpi_profile_place *place_of(struct mpi_profile *p, uint64_t site,
                                                 uint64_t what, uint64_t comm)
{
    const uint64_t hash = (site ^ what << 20 ^ comm << 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &p->places[hash >> 56];
}

static inline uint64_t key_of(uint32_t what)
{
    return (uint64_t)atomic_load_explicit(&generation, memory_order_relaxed) << 32 |
           (what & ~MPI_PROFILE_PROVED);
}

/* A call whose entry is not known, or whose site is a call path. */
RT_COLD static void add_slowly(struct recorder_thread *t, uintptr_t return_at, uint64_t ticks,
                               uint32_t what, uint64_t comm, uint64_t bytes)
{
    const bool is_path = (what & STREAM_PROFILE_NESTED) != 0 || mpi_path_depth != 1;
    /* The call itself has been left: only calls around it are open. */
    const uint32_t path = is_path ? mpi_path_further_at(t, t->open_depth, return_at) : 0;
    const uint64_t site = is_path ? path : return_address_read(return_at);
    const uint64_t key = key_of(what);
    struct mpi_profile_place *place = place_of(t->profile, site, key, comm);
    struct stream_profile *e = place->entry;
    if (place->site != site || place->what != key || place->comm != comm) {
        e = find_entry(t, is_path ? path : mpi_path_from((uintptr_t)site), what, comm);
        /* A handler of this thread that looks here in between finds no valid key. */
        place->what = 0;
        __asm__ volatile("" ::: "memory");
        place->site = site;
        place->comm = comm;
        place->entry = e;
        __asm__ volatile("" ::: "memory");
        /* A call that failed does not tell whether its communicator is valid. */
        const bool sure =
            (what & MPI_PROFILE_PROVED) != 0 || (what >> MPI_PROFILE_KIND & 3) != MPI_PROFILE_COMM;
        place->what = e != NULL && sure ? key : 0;
    }
    if (e != NULL)
        add_call(e, ticks, bytes);
    else
        count_lost();
}

void mpi_profile_add(struct recorder_thread *t, uintptr_t return_at, uint64_t ticks, uint32_t what,
                     uint64_t comm, uint64_t bytes)
{
    struct mpi_profile *p = t->profile;
    if (RT_UNLIKELY(p == NULL))
        return;
    if (RT_LIKELY(mpi_path_depth == 1 && (what & STREAM_PROFILE_NESTED) == 0)) {
        const uint64_t site = return_address_read(return_at);
        const uint64_t key = key_of(what);
        const struct mpi_profile_place *place = place_of(p, site, key, comm);
        if (RT_LIKELY(place->site == site && place->what == key && place->comm == comm)) {
            add_call(place->entry, ticks, bytes);
            return;
        }
    }
    add_slowly(t, return_at, ticks, what, comm, bytes);
}
