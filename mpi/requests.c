/* SPDX-License-Identifier: BSD-3-Clause
 * Which requests are receives: told when they are made, asked when they complete.
 *
 * A table of the process; a handle in use belongs to one request, so its entry has one writer at a time. Entries are left
 * behind when requests complete: a handle that is used again inside a window gets its entry anew, and one of another
 * window is not believed. Where a request finds no place, the oldest neighbour loses its own and is unknown. */
#include "mpi/wrapper.h"

#define SLOTS 4096u /* a power of two */
#define TRIES 8u

static struct request_entry {
    _Atomic uint64_t key;   /* handle + 1; 0 free */
    _Atomic uint64_t value; /* kinds | window << 32 */
} entries[SLOTS];
static _Atomic uint32_t next_victim;

static struct request_entry *entry_at(uint64_t request, uint32_t i)
{
    uint64_t mixed = request * UINT64_C(0x9e3779b97f4a7c15);
    return &entries[((uint32_t)(mixed >> 52) + i) & (SLOTS - 1)];
}

static struct request_entry *find(uint64_t request)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        struct request_entry *e = entry_at(request, i);
        if (atomic_load_explicit(&e->key, memory_order_acquire) == request + 1)
            return e;
    }
    return NULL;
}

static void put(struct request_entry *e, uint64_t request, uint64_t value)
{
    atomic_store_explicit(&e->value, value, memory_order_relaxed);
    atomic_store_explicit(&e->key, request + 1, memory_order_release);
}

void mpi_request_made(const struct recorder_thread *t, uint64_t request, unsigned kinds)
{
    uint64_t value = kinds | (uint64_t)(uint32_t)t->window << 32;
    struct request_entry *e = find(request);
    if (e != NULL) {
        put(e, request, value);
        return;
    }
    for (uint32_t i = 0; i < TRIES; i++) {
        uint64_t nobody = 0;
        e = entry_at(request, i);
        if (atomic_load_explicit(&e->key, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&e->key, &nobody, UINT64_MAX)) {
            put(e, request, value);
            return;
        }
    }
    uint32_t victim = atomic_fetch_add_explicit(&next_victim, 1, memory_order_relaxed);
    e = entry_at(request, victim % TRIES);
    atomic_store_explicit(&e->key, UINT64_MAX, memory_order_relaxed);
    put(e, request, value);
}

void mpi_request_freed(uint64_t request)
{
    struct request_entry *e = find(request);
    if (e != NULL)
        atomic_store_explicit(&e->key, 0, memory_order_release);
}

enum mpi_request_kind mpi_request_kind_of(const struct recorder_thread *t, uint64_t request)
{
    const struct request_entry *e = find(request);
    if (e == NULL)
        return MPI_REQUEST_UNKNOWN;
    uint64_t value = atomic_load_explicit(&e->value, memory_order_relaxed);
    unsigned kinds = (unsigned)(value & 0xffffffffu);
    if ((kinds & MPI_REQUEST_PERSISTENT) == 0 && (uint32_t)(value >> 32) != (uint32_t)t->window)
        return MPI_REQUEST_UNKNOWN;
    return (kinds & MPI_REQUEST_RECEIVE) != 0 ? MPI_REQUEST_RECEIVE : MPI_REQUEST_OTHER;
}
