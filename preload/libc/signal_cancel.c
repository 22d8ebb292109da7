/* SPDX-License-Identifier: BSD-3-Clause
 * Cancellation while a handler of ours works. Handlers call sys_cancel_off() first: else a thread
 * that can be cancelled at any time would end with our locks. */
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"

#include "base/sys.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define LIBC_CANCELS 32 /* glibc's SIGCANCEL */

/* sys_cancel_on() acts on a cancellation that has come, on top of our handler. What it runs then
 * must have the program's mask. Signals are unblocked for that case alone: others that come here
 * would interrupt a system call that is about to go on. */
void signals_cancel_on(struct sys_cancel was, const void *context)
{
    uint64_t pending = 0, mask;
    if (RT_UNLIKELY(was.type == PTHREAD_CANCEL_ASYNCHRONOUS) &&
        sys_call6(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0) == 0 &&
        (pending & sys_signal_bit(LIBC_CANCELS)) != 0) {
        memcpy(&mask, &((const ucontext_t *)context)->uc_sigmask, sizeof mask);
        sys_restore_signals(mask);
    }
    sys_cancel_on(was);
}
