/* SPDX-License-Identifier: BSD-3-Clause
 * Remembers the communicator that each window of one-sided communication was made from, because
 * calls that are collective over a window name the window alone. Lock-free, no allocation. */
#include "mpi/wrapper.h"

#define WINS 256u

/* If the table is full, the recording shows no communicator for a window. */
static struct win {
    _Atomic uint64_t key; /* handle + 1; 0 free */
    _Atomic uint64_t comm;
    _Atomic uint32_t id; /* number of a freed communicator, else 0 */
    _Atomic bool ended;  /* the communicator has been freed */
} wins[WINS];
static _Atomic uint32_t wins_used; /* index after the last row ever used */

static struct win *find(uint64_t key, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&wins[i].key) == key)
            return &wins[i];
    return NULL;
}

void mpi_win_made(uint64_t win, uint64_t comm)
{
    uint32_t used = atomic_load(&wins_used);
    struct win *w = find(win + 1, used); /* a window whose end we missed */
    for (uint32_t i = 0; w == NULL && i < WINS; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&wins[i].key, &none, UINT64_MAX))
            w = &wins[i];
    }
    if (w == NULL)
        return;
    atomic_store(&w->comm, comm);
    atomic_store(&w->id, 0);
    atomic_store(&w->ended, false);
    atomic_store(&w->key, win + 1);
    mpi_profile_forget();
    uint32_t end = (uint32_t)(w - wins) + 1;
    while (used < end && !atomic_compare_exchange_weak(&wins_used, &used, end))
        ;
}

void mpi_win_freed(uint64_t win)
{
    struct win *w = find(win + 1, atomic_load(&wins_used));
    if (w != NULL)
        atomic_store(&w->key, 0);
}

void mpi_win_comm_ends(uint64_t comm, uint32_t id)
{
    uint32_t used = atomic_load(&wins_used);
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load(&wins[i].key) != 0 && !atomic_load(&wins[i].ended) &&
            atomic_load(&wins[i].comm) == comm) {
            atomic_store(&wins[i].id, id);
            atomic_store(&wins[i].ended, true);
        }
}

uint32_t mpi_win_comm_id(struct recorder_thread *t, uint64_t win)
{
    struct win *w = find(win + 1, atomic_load(&wins_used));
    if (w == NULL)
        return 0;
    return atomic_load(&w->ended) ? atomic_load(&w->id) : mpi_comm_id(t, atomic_load(&w->comm));
}

uint64_t mpi_win_comm(uint64_t win)
{
    struct win *w = find(win + 1, atomic_load(&wins_used));
    return w != NULL && !atomic_load(&w->ended) ? atomic_load(&w->comm) : mpi_abi.comm_null;
}
