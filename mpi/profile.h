/* SPDX-License-Identifier: BSD-3-Clause
 * The profile of MPI calls (REGTRACE_MODE=profile): number, times and bytes of calls, by thread,
 * call path, function and communicator, in the stream (struct stream_profile).
 *
 * Each thread remembers where its entries are, by return address, so that a call needs one look-up.
 * A call that an exception or a jump leaves is not in the profile. */
#ifndef REGTRACE_MPI_PROFILE_H
#define REGTRACE_MPI_PROFILE_H

#include "mpi/call_sites.h"

/* The entries that the thread has found. A key with an older generation is not valid: the stream
 * has changed, or other code lies at the address. */
#define MPI_PROFILE_PLACES 256u
struct mpi_profile {
    struct mpi_profile_place {
        uint64_t site; /* return address, or number of the call path */
        uint64_t rest; /* generation, communicator, function */
        struct stream_profile *entry;
        uint64_t pad;
    } places[MPI_PROFILE_PLACES];
};

/* A call that is to be in the profile. */
struct mpi_profiled {
    uintptr_t return_at; /* address of the stack's word with the return address */
    uint64_t begin;      /* ticks; 0: the call is not in the profile */
};

static inline struct mpi_profiled mpi_profile_begin(uintptr_t return_at)
{
    return (struct mpi_profiled){.return_at = return_at, .begin = clock_ticks()};
}

static inline struct mpi_profiled mpi_profile_begin_if(bool opened, const struct recorder_thread *t,
                                                       uintptr_t return_at)
{
    return RT_UNLIKELY(opened && t->profile != NULL) ? mpi_profile_begin(return_at)
                                                     : (struct mpi_profiled){0, 0};
}

/* Adds a call that has returned. `function` may have further bits of an open call's entry. facts:
 * bytes and communicator as mpi_bytes_comm() packs them. end: ticks. Calls around it are still
 * open. */
void mpi_profile_add(struct recorder_thread *t, struct mpi_profiled call, uint32_t depth,
                     unsigned function, uint64_t facts, uint64_t end);

#endif
