/* SPDX-License-Identifier: BSD-3-Clause
 * A lock that handlers may take too (probe_sites.h). */
#include "preload/patch/probe_sites.h"

#include "base/sys.h"
#include "preload/process.h"
#include "preload/window/interrupts.h"

#include <pthread.h>

#define LIBC_CANCELS 32 /* glibc's signal of asynchronous cancellations */

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

/* A caller that has blocked all signals must not be cancelled here: the cleanup handlers of the
 * program would run with that mask. An internal signal then waits until the caller has unblocked
 * signals. */
static bool cancels_later(struct probe_locked was)
{
    return was.cancel.type == PTHREAD_CANCEL_ASYNCHRONOUS &&
           (was.mask & sys_signal_bit(LIBC_CANCELS)) != 0 &&
           process_interrupt_thread((uint32_t)sys_gettid(), INTERRUPT_CANCEL);
}

void probe_unlock(struct probe_lock *l, struct probe_locked was)
{
    atomic_store(&l->taken, 0);
    sys_futex_wake(&l->taken, 1);
    sys_restore_signals(was.mask);
    if (cancels_later(was))
        was.cancel.type = PTHREAD_CANCEL_DEFERRED;
    sys_cancel_on(was.cancel);
}

void probe_lock_free(struct probe_lock *l)
{
    atomic_store(&l->taken, 0);
}
