/* SPDX-License-Identifier: BSD-3-Clause
 * The profile of MPI calls in a stream: a lock-free hash table. */
#include "base/format/stream.h"

#define TRIES 64u

static uint32_t place_of(uint32_t thread, uint32_t path, uint16_t function, uint16_t comm)
{
    uint64_t h = ((uint64_t)thread << 32 | path) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (uint32_t)function << 16 ^ comm) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

/* Finds or adds an entry, while less than `most` entries are in use. */
static struct stream_profile *enter(const struct stream *s, uint32_t most, uint32_t thread,
                                    uint32_t path, uint16_t function, uint16_t comm)
{
    struct stream_header *h = s->header;
    uint32_t at = place_of(thread, path, function, comm);
    for (uint32_t i = 0; i < TRIES; i++) {
        struct stream_profile *p = &stream_profiles(s)[(at + i) & (h->profile_capacity - 1)];
        uint32_t state = atomic_load_explicit(&p->state, memory_order_acquire);
        if (state == PROFILE_READY && p->thread == thread && p->path == path &&
            p->function == function && p->comm == comm)
            return p;
        if (state != PROFILE_FREE)
            continue;
        if (atomic_load_explicit(&h->profile_used, memory_order_relaxed) >= most)
            return NULL;
        if (!atomic_compare_exchange_strong(&p->state, &state, PROFILE_IS_WRITTEN))
            continue;
        p->thread = thread;
        p->path = path;
        p->function = function;
        p->comm = comm;
        atomic_store_explicit(&p->least, UINT64_MAX, memory_order_relaxed);
        /* First counted, then ready: if the writer has all counted ones, it has all ready ones. */
        atomic_fetch_add_explicit(&h->profile_used, 1, memory_order_release);
        atomic_store_explicit(&p->state, PROFILE_READY, memory_order_release);
        return p;
    }
    return NULL;
}

/* An eighth of the table is for sums, and an eighth stays free. */
struct stream_profile *stream_profile_enter(const struct stream *s, uint32_t thread, uint32_t path,
                                            uint16_t function, uint16_t comm)
{
    uint32_t eighth = s->header->profile_capacity / 8;
    struct stream_profile *p = enter(s, 6 * eighth, thread, path, function, comm);
    return p != NULL ? p : enter(s, 7 * eighth, thread, 0, function, 0);
}
