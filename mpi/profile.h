/* SPDX-License-Identifier: BSD-3-Clause
 * The profile of MPI calls (REGTRACE_MODE=profile): number, times and bytes of calls, by thread,
 * call path, function and communicator, in the stream (struct stream_profile).
 *
 * Each thread remembers where its entries are, by return address, so that a call needs one look-up.
 * A call that an exception or a jump leaves is not in the profile. */
#ifndef REGTRACE_MPI_PROFILE_H
#define REGTRACE_MPI_PROFILE_H

#include "mpi/site_paths.h"

/* The entries that the thread has found. A key with an older generation is not valid: the stream
 * has changed, other code lies at the address, or a handle is that of another communicator. */
#define MPI_PROFILE_PLACES 256u
struct mpi_profile {
    struct mpi_profile_place {
        uint64_t site; /* return address, or number of the call path */
        uint64_t what; /* generation, function, kind of the communicator's word */
        uint64_t comm; /* word of the communicator */
        struct stream_profile *entry;
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

/* What mpi_profile_add() knows of the communicator. */
enum mpi_profile_comm {
    MPI_PROFILE_NO_COMM,
    MPI_PROFILE_COMM,   /* its handle */
    MPI_PROFILE_HOLDER, /* a window of one-sided communication, or a file, made from it */
    MPI_PROFILE_ID      /* its number, as it has been freed */
};

/* Bits of `what`: the function, STREAM_PROFILE_NESTED, enum mpi_profile_comm, and whether the call
 * has succeeded. */
#define MPI_PROFILE_KIND 16
#define MPI_PROFILE_PROVED 0x40000u
static inline uint32_t mpi_profile_what(uint32_t function, uint32_t depth,
                                        enum mpi_profile_comm kind, bool proved)
{
    return function | (depth != 0 ? STREAM_PROFILE_NESTED : 0u) |
           (uint32_t)kind << MPI_PROFILE_KIND | (proved ? MPI_PROFILE_PROVED : 0u);
}

/* Adds a call that has returned, and took `ticks`. return_at: as in struct mpi_profiled. Calls
 * around it are still open. */
void mpi_profile_add(struct recorder_thread *t, uintptr_t return_at, uint64_t ticks, uint32_t what,
                     uint64_t comm, uint64_t bytes);

#endif
