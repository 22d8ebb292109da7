/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators that their windows of one-sided communication and files outlive. Such a
 * communicator goes on under a handle of ours, because collective calls on its holders still have
 * numbers in its order. */
#ifndef REGTRACE_MPI_COMM_HOLDERS_H
#define REGTRACE_MPI_COMM_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

/* Is this such a handle? No library has handles with this bit. */
#define COMM_KEPT (UINT64_C(1) << 61)
static inline bool comm_is_kept(uint64_t comm)
{
    return (comm & COMM_KEPT) != 0;
}

/* The communicator ends. Returns the handle under which its holders have it from now on; 0: it has
 * none. */
uint64_t mpi_holders_keep(uint64_t comm);

/* Notes rank and size of a communicator that has a holder now: MPI cannot be asked about them once
 * it has ended (comms.c). */
void mpi_comm_held(uint64_t comm);

#endif
