/* SPDX-License-Identifier: BSD-3-Clause
 * Call paths of a stream: a lock-free table that signal handlers may add to. */
#include "base/format/stream.h"

uint32_t stream_path_enter(const struct stream *s, const struct stream_path *path)
{
    struct stream_header *h = s->header;
    struct stream_path *paths = stream_paths(s);
    uint32_t mask = h->path_capacity - 1, at = stream_path_hash(path->parent, path->address);
    bool full = atomic_load_explicit(&h->paths_used, memory_order_relaxed) >= mask - mask / 8;
    for (uint32_t i = 0; i < STREAM_PATH_TRIES && !full; i++) {
        uint32_t n = (at + i) & mask;
        struct stream_path *p = &paths[n];
        uint32_t state = PATH_FREE;
        if (!atomic_compare_exchange_strong(&p->state, &state, PATH_IS_WRITTEN))
            continue;
        p->parent = path->parent;
        p->address = path->address;
        p->image = path->image;
        p->build_id = path->build_id;
        p->offset = path->offset;
        /* First counted, then ready: if the writer has all counted ones, it has all ready ones. */
        atomic_fetch_add_explicit(&h->paths_used, 1, memory_order_release);
        atomic_store_explicit(&p->state, PATH_READY, memory_order_release);
        return n;
    }
    atomic_fetch_add_explicit(&h->paths_lost, 1, memory_order_relaxed);
    return 0;
}

void stream_paths_forget(const struct stream *s, bool (*gone)(uintptr_t address))
{
    struct stream_path *paths = stream_paths(s);
    uint32_t count = s->header->path_capacity;
    if (atomic_load_explicit(&s->header->paths_used, memory_order_relaxed) == 0)
        return;
    for (uint32_t n = 1; n < count; n++) {
        uint32_t state = PATH_READY;
        if (atomic_load_explicit(&paths[n].state, memory_order_acquire) == PATH_READY &&
            gone((uintptr_t)paths[n].address))
            (void)atomic_compare_exchange_strong(&paths[n].state, &state, PATH_OVER);
    }
}
