/* SPDX-License-Identifier: BSD-3-Clause
 * Remembers from which communicator each window of one-sided communication and each open file was
 * made, because collective calls on them do not name it. Lock-free, no allocation. */
#include "mpi/comm_holders.h"

#include "mpi/wrapper.h"

#define HOLDERS 256u

/* If the table is full, the recording shows no communicator for a window or a file. */
static struct holder {
    _Atomic uint64_t key;  /* holder + 1; 0 free */
    _Atomic uint64_t comm; /* may be a handle of ours, COMM_KEPT */
} holders[HOLDERS];
static _Atomic uint32_t holders_used; /* index after the last row ever used */

static struct holder *find(uint64_t key, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&holders[i].key) == key)
            return &holders[i];
    return NULL;
}

void mpi_holder_made(uint64_t holder, uint64_t comm)
{
    uint32_t used = atomic_load(&holders_used);
    struct holder *h = find(holder + 1, used); /* one whose end we missed */
    for (uint32_t i = 0; h == NULL && i < HOLDERS; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&holders[i].key, &none, UINT64_MAX))
            h = &holders[i];
    }
    if (h == NULL)
        return;
    atomic_store(&h->comm, comm);
    mpi_comm_held(comm);
    atomic_store(&h->key, holder + 1);
    mpi_profile_forget();
    uint32_t end = (uint32_t)(h - holders) + 1;
    while (used < end && !atomic_compare_exchange_weak(&holders_used, &used, end))
        ;
}

void mpi_holder_freed(uint64_t holder)
{
    struct holder *h = find(holder + 1, atomic_load(&holders_used));
    if (h != NULL)
        atomic_store(&h->key, 0);
}

/* Returns the first row whose holder has the communicator; NULL: none has. */
static struct holder *first_of(uint64_t comm)
{
    uint32_t used = atomic_load(&holders_used);
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load(&holders[i].key) != 0 && atomic_load(&holders[i].comm) == comm)
            return &holders[i];
    return NULL;
}

uint64_t mpi_holders_keep(uint64_t comm)
{
    struct holder *h = first_of(comm);
    uint64_t kept = COMM_KEPT;
    if (h == NULL)
        return 0;
    while (first_of(kept) != NULL) /* ends, as there are fewer holders than handles */
        kept++;
    for (; h != NULL; h = first_of(comm))
        atomic_store(&h->comm, kept);
    return kept;
}

uint32_t mpi_holder_comm_id(struct recorder_thread *t, uint64_t holder)
{
    struct holder *h = find(holder + 1, atomic_load(&holders_used));
    return h != NULL ? mpi_comm_id(t, atomic_load(&h->comm)) : 0;
}

uint64_t mpi_holder_comm(uint64_t holder)
{
    struct holder *h = find(holder + 1, atomic_load(&holders_used));
    return h != NULL ? atomic_load(&h->comm) : mpi_abi.comm_null;
}
