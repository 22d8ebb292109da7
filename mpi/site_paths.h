/* SPDX-License-Identifier: BSD-3-Clause
 * Call sites of MPI calls: return addresses outside regtrace and the MPI library, as numbers of
 * call paths (struct stream_path). */
#ifndef REGTRACE_MPI_SITE_PATHS_H
#define REGTRACE_MPI_SITE_PATHS_H

#include "mpi/mpi.h"

#include "base/return_address.h"

/* Enters a return address into the stream's table of paths. Returns its number; 0 if that is
 * impossible. */
uint32_t mpi_path_enter(uintptr_t caller);

static inline uint32_t mpi_path_from(uintptr_t caller)
{
    uint32_t path = stream_path_find(&recorder_paths, 0, caller);
    return RT_LIKELY(path != 0) ? path : mpi_path_enter(caller);
}

/* Address of the stack's word that holds the return address of an open call. */
static inline uintptr_t mpi_return_at(const struct recorder_thread *t, uint32_t depth)
{
    return t->open_calls[depth] >> RECORDER_OPEN_RETURN_AT;
}

/* Returns the call path of a call at `depth` whose return address lies at `at`, if it is not just
 * the call site of an outermost call. */
uint32_t mpi_path_further_at(const struct recorder_thread *t, uint32_t depth, uintptr_t at);
/* Returns the call path of an open call of the calling thread that has not returned yet. A call by
 * the MPI library itself has that of the call around it. */
uint32_t mpi_path_further(const struct recorder_thread *t, uint32_t depth);
static inline uint32_t mpi_path_of(const struct recorder_thread *t, uint32_t depth)
{
    if (RT_UNLIKELY(depth != 0 || mpi_path_depth != 1))
        return mpi_path_further(t, depth);
    return mpi_path_from(return_address_read(mpi_return_at(t, 0)));
}
/* The same for a call that may have been left already, with all its stack. */
uint32_t mpi_path_of_cut(const struct recorder_thread *t, uint32_t depth);

#endif
