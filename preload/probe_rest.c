/* SPDX-License-Identifier: BSD-3-Clause
 * While no chain has anything armed in any thread, probes rest: what stood there is there again, and the program runs as if bare.
 * A thread that begins, or a forked child, may arm them anew. Nobody is stopped for it (probe_poke.c); who has met an int3 just
 * before still finds its row. Jumps that could not be put back while others run stay: they cost little. */
#include "preload/probes.h"

#include "base/sys.h"
#include "preload/probe_sites.h"

#include <fcntl.h>
#include <unistd.h>

#define PLACES_MAX 4096u /* more are not worth the time each time that a thread begins */

static _Atomic enum { AWAKE, DECIDING, RESTING } state;
/* Threads that have not come to anything yet: they have all chains before them (the first one, while others run). Threads that
 * libc makes inside itself, and those of a raw clone, are not among them. */
static _Atomic int32_t unknown_count;
static __thread bool is_unknown;
/* Taken with all signals blocked. */
static struct probe_lock changing;

static bool is_place(const struct probe_sites *all, size_t i)
{
    return all->rows[i].copy != NULL && probe_is_first(all->rows, i);
}

static bool are_few(const struct probe_sites *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count && n <= PLACES_MAX; i++)
        n += is_place(all, i);
    return n <= PLACES_MAX;
}

/* Places that hold what they should by now are changed; by the file, since an image may go meanwhile. */
static void write_all(const struct probe_sites *all, bool rest)
{
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < all->count; i++) {
        const struct probe_site *s = &all->rows[i];
        uint8_t now, before = rest ? PROBE_INT3 : s->byte, after = rest ? s->byte : PROBE_INT3;
        if (s->jumped == 0 && is_place(all, i) && pread(fd, &now, 1, (off_t)s->at) == 1 &&
            now == before)
            (void)!pwrite(fd, &after, 1, (off_t)s->at);
    }
    if (fd >= 0 && rest)
        probe_poke_out(fd, all->rows, all->count);
    else if (fd >= 0)
        probe_poke_in(fd, all->rows, all->count);
    if (fd >= 0)
        (void)close(fd);
}

void probes_thread_begins(void)
{
    if (!process.probes)
        return;
    probe_exits_thread_begin();
    is_unknown = true;
    atomic_fetch_add(&unknown_count, 1);
}

void probes_thread_known(void)
{
    if (is_unknown)
        atomic_fetch_sub(&unknown_count, 1);
    is_unknown = false;
}

void probes_thread_gone(void)
{
    const struct stream_header *h = recorder_stream.header;
    if (!is_unknown)
        return;
    probes_thread_known();
    if (h != NULL && atomic_load(&h->status_armed) == 0)
        probes_rest();
}

void probes_rest(void)
{
    const struct probe_sites *all = probe_sites_now();
    if (!process.probes || all == NULL || atomic_load(&state) == RESTING || !are_few(all) ||
        atomic_load(&unknown_count) != 0)
        return;
    _Atomic uint32_t armed = 0;
    struct probe_locked locked = probe_lock(&changing);
    if (atomic_load(&state) == AWAKE) {
        /* In this order: a thread that begins is armed, then looks whether probes rest, and waits while that is decided. */
        atomic_store(&state, DECIDING);
        ctl_chains_armed(process.shared, &armed);
        if (armed == 0) {
            write_all(all, true);
            probe_returns_rest();
        }
        atomic_store(&state, armed == 0 ? RESTING : AWAKE);
    }
    probe_unlock(&changing, locked);
}

void probes_wake(void)
{
    if (atomic_load(&state) == AWAKE)
        return;
    struct probe_locked locked = probe_lock(&changing);
    if (atomic_load(&state) == RESTING) {
        write_all(probe_sites_now(), false); /* where functions return to: when they are entered */
        atomic_store(&state, AWAKE);
    }
    probe_unlock(&changing, locked);
}

void probe_rest_forked(void)
{
    probe_lock_free(&changing);
    if (atomic_load(&state) == DECIDING)
        atomic_store(&state,
                     RESTING); /* by a thread that is not here, half: written again when it wakes */
    atomic_store(&unknown_count, 1);
    is_unknown = true;
}
