/* SPDX-License-Identifier: BSD-3-Clause
 * While no chain has anything armed in any thread, int3s rest: what stood there is there again, and the program runs as if bare.
 * A thread that begins, or a forked child, may arm them anew. One byte is written at once, so nobody need be stopped; who has met
 * an int3 just before still finds its row. Jumps stay, which cost little, and cannot be changed while others run. */
#include "preload/probes.h"

#include "base/sys.h"
#include "preload/probe_sites.h"

#include <fcntl.h>
#include <unistd.h>

#define PLACES_MAX 4096u /* more are not worth the time each time that a thread begins */
#define INT3 0xcc

static _Atomic bool resting;
/* Taken with all signals blocked. */
static struct probe_lock changing;

static bool is_int3(const struct probe_sites *all, size_t i)
{
    const struct probe_site *s = &all->rows[i];
    return s->jumped == 0 && s->copy != NULL && (i == 0 || s[-1].at != s->at);
}

static bool are_few(const struct probe_sites *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count && n <= PLACES_MAX; i++)
        n += is_int3(all, i);
    return n <= PLACES_MAX;
}

/* Places that hold what they should by now are changed; by the file, since an image may go meanwhile. */
static void write_all(const struct probe_sites *all, bool rest)
{
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < all->count; i++) {
        const struct probe_site *s = &all->rows[i];
        uint8_t now, before = rest ? INT3 : s->byte, after = rest ? s->byte : INT3;
        if (is_int3(all, i) && pread(fd, &now, 1, (off_t)s->at) == 1 && now == before)
            (void)!pwrite(fd, &after, 1, (off_t)s->at);
    }
    if (fd >= 0)
        (void)close(fd);
}

void probes_rest(void)
{
    const struct probe_sites *all = probe_sites_now();
    if (!process.probes || all == NULL || atomic_load(&resting) || !are_few(all))
        return;
    _Atomic uint32_t armed = 0;
    struct probe_locked locked = probe_lock(&changing);
    ctl_chains_armed(process.shared,
                     &armed); /* again: a thread that began meanwhile waits for the lock */
    if (armed == 0 && !atomic_load(&resting)) {
        write_all(all, true);
        probe_returns_rest();
        atomic_store(&resting, true);
    }
    probe_unlock(&changing, locked);
}

void probes_wake(void)
{
    if (!atomic_load(&resting))
        return;
    struct probe_locked locked = probe_lock(&changing);
    if (atomic_load(&resting)) {
        write_all(probe_sites_now(), false); /* where functions return to: when they are entered */
        atomic_store(&resting, false);
    }
    probe_unlock(&changing, locked);
}

void probe_rest_forked(void)
{
    probe_lock_free(&changing);
}
