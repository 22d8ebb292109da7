/* SPDX-License-Identifier: BSD-3-Clause
 * Which requests are receives, and which are active: told when they are made and started, asked when they complete.
 *
 * A table of the process; a handle in use belongs to one request, so its entry has one writer at a time. Entries go when
 * their requests complete; one that was left behind by a completion outside windows is of another window, and not believed.
 * Where a request finds no place it is unknown, and is counted as such. Libraries hand out one
 * handle for all requests that are complete when they are made (sends, receives from MPI_PROC_NULL): made twice without a
 * completion between, a handle is such a one, and says nothing. */
#include "mpi/wrapper.h"

#define SLOTS 65536u /* a power of two; memory is used where requests were */
#define TRIES 8u
#define CLAIMED UINT64_MAX

/* Beside enum mpi_request_kind. */
#define ACTIVE 8u
#define SHARED 16u

static struct request_entry {
    _Atomic uint64_t key;   /* handle + 1; 0 free */
    _Atomic uint64_t value; /* kinds and bits | window << 32 */
} entries[SLOTS];

static struct request_entry *entry_at(uint64_t request, uint32_t i)
{
    uint64_t mixed = request * UINT64_C(0x9e3779b97f4a7c15);
    return &entries[((uint32_t)(mixed >> 48) + i) & (SLOTS - 1)];
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

static uint64_t value_of(const struct recorder_thread *t, unsigned kinds)
{
    return kinds | (uint64_t)(uint32_t)t->window << 32;
}

static bool is_of_window(const struct recorder_thread *t, uint64_t value)
{
    return (uint32_t)(value >> 32) == (uint32_t)t->window;
}

/* Its entry, or a free one that is claimed for it, or one of a window that is over; NULL where there is none. */
static struct request_entry *make(const struct recorder_thread *t, uint64_t request)
{
    struct request_entry *e = find(request);
    for (uint32_t i = 0; e == NULL && i < 2 * TRIES; i++) {
        struct request_entry *other = entry_at(request, i % TRIES);
        uint64_t key = atomic_load_explicit(&other->key, memory_order_relaxed);
        uint64_t value = atomic_load_explicit(&other->value, memory_order_relaxed);
        bool stale = (value & (MPI_REQUEST_PERSISTENT | SHARED)) == 0 && !is_of_window(t, value);
        bool usable = i < TRIES ? key == 0 : key != CLAIMED && stale;
        if (usable && atomic_compare_exchange_strong(&other->key, &key, CLAIMED)) {
            atomic_store_explicit(&other->value, 0, memory_order_relaxed);
            e = other;
        }
    }
    return e;
}

void mpi_request_made(const struct recorder_thread *t, uint64_t request, unsigned kinds)
{
    struct request_entry *e = make(t, request);
    if (e == NULL)
        return;
    uint64_t before = atomic_load_explicit(&e->value, memory_order_relaxed);
    if ((kinds & MPI_REQUEST_PERSISTENT) == 0) {
        bool twice = (before & ACTIVE) != 0 && is_of_window(t, before) &&
                     (before & MPI_REQUEST_PERSISTENT) == 0;
        kinds |= ACTIVE | (twice ? SHARED : (unsigned)(before & SHARED));
    }
    put(e, request, value_of(t, kinds));
}

void mpi_request_started(const struct recorder_thread *t, uint64_t request)
{
    struct request_entry *e = find(request);
    uint64_t value = e != NULL ? atomic_load_explicit(&e->value, memory_order_relaxed) : 0;
    if ((value & MPI_REQUEST_PERSISTENT) != 0)
        put(e, request, value_of(t, (unsigned)value | ACTIVE));
}

void mpi_request_freed(uint64_t request)
{
    struct request_entry *e = find(request);
    if (e != NULL)
        atomic_store_explicit(&e->key, 0, memory_order_release);
}

enum mpi_request_kind mpi_request_completed(const struct recorder_thread *t, uint64_t request,
                                            bool empty)
{
    struct request_entry *e = find(request);
    if (e == NULL)
        return empty ? MPI_REQUEST_NONE : MPI_REQUEST_UNKNOWN;
    uint64_t value = atomic_load_explicit(&e->value, memory_order_relaxed);
    bool here = is_of_window(t, value), persistent = (value & MPI_REQUEST_PERSISTENT) != 0;
    bool receive = (value & MPI_REQUEST_RECEIVE) != 0;
    if (!here && !persistent)
        return empty ? MPI_REQUEST_NONE : MPI_REQUEST_UNKNOWN;
    if (persistent || (value & SHARED) != 0)
        put(e, request, value_of(t, (unsigned)value & ~ACTIVE));
    else
        atomic_store_explicit(&e->key, 0, memory_order_release);
    if (persistent && (here ? (value & ACTIVE) == 0 : receive && empty))
        return MPI_REQUEST_NONE;
    if ((value & SHARED) != 0)
        return MPI_REQUEST_OTHER;
    return receive ? MPI_REQUEST_RECEIVE : MPI_REQUEST_OTHER;
}
