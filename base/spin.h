/* SPDX-License-Identifier: BSD-3-Clause
 * A lock for a few instructions. Hold it with all signals blocked: a handler of the same thread
 * that takes it would wait for ever. */
#ifndef REGTRACE_BASE_SPIN_H
#define REGTRACE_BASE_SPIN_H

#include "base/sys.h"

#include <stdatomic.h>
#include <stdint.h>

/* 0: free. */
typedef _Atomic uint32_t spin_lock;

static inline void spin_take(spin_lock *lock)
{
    while (atomic_exchange_explicit(lock, 1, memory_order_acquire) != 0)
        while (atomic_load_explicit(lock, memory_order_relaxed) != 0)
            sys_relax();
}

static inline void spin_give(spin_lock *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}

#endif
