/* SPDX-License-Identifier: BSD-3-Clause
 * A lock that handlers may take too (probe_sites.h). */
#include "preload/patch/probe_sites.h"

#include "base/sys.h"

struct probe_locked probe_lock(struct probe_lock *l)
{
    struct probe_locked was;
    uint32_t expected = 0;
    was.cancel = sys_cancel_off();
    was.mask = sys_block_signals();
    while (!atomic_compare_exchange_strong(&l->taken, &expected, 1)) {
        sys_futex_wait(&l->taken, 1, 1000000000);
        expected = 0;
    }
    return was;
}

void probe_unlock(struct probe_lock *l, struct probe_locked was)
{
    atomic_store(&l->taken, 0);
    sys_futex_wake(&l->taken, 1);
    sys_restore_signals(was.mask);
    sys_cancel_on(was.cancel);
}

void probe_lock_free(struct probe_lock *l)
{
    atomic_store(&l->taken, 0);
}
