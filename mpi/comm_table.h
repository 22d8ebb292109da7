/* SPDX-License-Identifier: BSD-3-Clause
 * The table of communicators (comms.c), for look-ups on the path of every call. */
#ifndef REGTRACE_MPI_COMM_TABLE_H
#define REGTRACE_MPI_COMM_TABLE_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define COMM_SLOTS 4096u
#define COMM_TRIES 16u

/* A key stays when its communicator ends, because MPI reuses handles. id 0: no number at
 * present. */
struct comm_entry {
    _Atomic uint64_t key; /* handle + 1; 0: never used */
    _Atomic uint32_t id;
    uint32_t rank, size;
    _Atomic uint32_t made; /* how often a call has made a communicator with this handle */
    _Atomic bool valid;    /* a call that we saw made it, or a call with it succeeded */
    /* It was freed. Libraries accept freed handles in some calls, so a later success does not prove
     * that the handle is valid. */
    _Atomic bool ended;
    _Atomic bool receives_lost; /* its receives have no numbers any more (numbers.h) */
    /* Collective calls so far; and what was recorded of them last, as in numbers.c. */
    _Atomic uint64_t collectives, told;
};
extern struct comm_entry mpi_comms[COMM_SLOTS] RT_HIDDEN;

static inline uint32_t comm_place(uint64_t comm)
{
    return (uint32_t)((comm * UINT64_C(0x9e3779b97f4a7c15)) >> 52) % COMM_SLOTS;
}

/* Returns the entry of a handle. `make`: adds it if it is not there. Returns NULL if there is none,
 * or no room. */
struct comm_entry *comm_find_further(uint64_t comm, bool make);
static inline struct comm_entry *comm_find(uint64_t comm, bool make)
{
    struct comm_entry *e = &mpi_comms[comm_place(comm)];
    return RT_LIKELY(atomic_load_explicit(&e->key, memory_order_acquire) == comm + 1)
               ? e
               : comm_find_further(comm, make);
}

/* Returns the number that the communicator had before its end, for receives that are still open; 0:
 * none, or it has not ended. */
uint32_t mpi_comm_last_id(const struct comm_entry *e);

#endif
