/* SPDX-License-Identifier: BSD-3-Clause
 * SIGSEGV if memory is traced (memory.c). Our handler begins with all other signals but faults
 * blocked, so that no handler of the program runs while we work on a fault of an instrumented copy.
 * The program's own handler runs under the mask that it would have had. */
#include "preload/libc/interpose.h"

#include "base/sys.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory.h"

#include <string.h>
#include <ucontext.h>

void signals_fault_action(int signo, struct sigaction *a)
{
    uint64_t mask = ~sys_raised_signals();
    if (memory_is_fault(signo))
        memcpy(&a->sa_mask, &mask, sizeof mask);
}

void signals_fault_unmask(int signo, const void *context)
{
    const ucontext_t *uc = context;
    uint64_t mask;
    if (!memory_is_fault(signo))
        return;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    sys_restore_signals(mask | (signals_handler_mask(signo) & ~signals_kept_bits()));
}
