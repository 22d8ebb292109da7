/* SPDX-License-Identifier: BSD-3-Clause
 * Adds MPI calls to the profile in the stream. */
#include "mpi/profile.h"

#include "mpi/call_sites.h"
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

/* Finds the entry in the stream, and remembers it. Returns NULL if there is no room. */
RT_COLD static struct stream_profile *find_entry(const struct recorder_thread *t,
                                                 struct mpi_profile_place *place, uint64_t site,
                                                 uint64_t rest, bool is_path)
{
    struct stream_profile *e = instead;
    if (e == NULL && recorder_is_on()) {
        uint32_t path = is_path ? (uint32_t)site : mpi_path_from((uintptr_t)site);
        e = stream_profile_enter(&recorder_stream, t->index, path, (uint16_t)rest,
                                 (uint16_t)(rest >> 16));
        if (path != 0 && (e == NULL || e->path == 0))
            warn_full();
    }
    /* A handler of this thread that looks here in between finds no valid key. */
    place->rest = 0;
    __asm__ volatile("" ::: "memory");
    place->site = site;
    place->entry = e;
    __asm__ volatile("" ::: "memory");
    place->rest = e != NULL ? rest : 0;
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

void mpi_profile_add(struct recorder_thread *t, struct mpi_profiled call, uint32_t depth,
                     unsigned function, uint64_t facts, uint64_t end)
{
    struct mpi_profile *p = t->profile;
    if (RT_UNLIKELY(p == NULL))
        return;
    const bool is_path = depth != 0 || mpi_path_depth != 1;
    const uint64_t site = RT_UNLIKELY(is_path)
                              ? mpi_path_further_at(t, depth, call.return_at)
                              : *(const uintptr_t *)call.return_at; /* NOLINT: the stack */
    const uint64_t comm = EV_MPI_ENTER_comm(0, facts);
    const uint64_t rest = (uint64_t)atomic_load_explicit(&generation, memory_order_relaxed) << 32 |
                          (comm < COMMS ? comm : MANY_COMMS) << 16 |
                          (function & MPI_OPEN_FUNCTION) |
                          (depth != 0 ? STREAM_PROFILE_NESTED : 0u);
    const uint64_t hash = (site ^ rest << 20) * UINT64_C(0x9e3779b97f4a7c15);
    struct mpi_profile_place *place = &p->places[hash >> 56];
    struct stream_profile *e = RT_LIKELY(place->site == site && place->rest == rest)
                                   ? place->entry
                                   : find_entry(t, place, site, rest, is_path);
    if (RT_LIKELY(e != NULL))
        add_call(e, end - call.begin, EV_MPI_ENTER_bytes(0, facts));
    else
        count_lost();
}
