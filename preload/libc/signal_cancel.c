/* SPDX-License-Identifier: BSD-3-Clause
 * Cancellation while a handler of ours works. Handlers call sys_cancel_off() first: else a thread
 * that can be cancelled at any time would end with our locks. */
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"

#include "base/sys.h"
#include "preload/memory/memory.h"
#include "preload/window/interrupts.h"

#include <pthread.h>
#include <string.h>
#include <ucontext.h>

/* The end of the thread leaves our handler here, as a siglongjmp() would. */
static void leave(void *mask)
{
    memory_position_restore((struct memory_position){.stack = 0});
    sys_restore_signals(*(const uint64_t *)mask);
}

/* sys_cancel_on() acts on a cancellation that has come, on top of our handler. What it runs then
 * must have the program's mask. If nobody cancels the thread no signal is unblocked: others that
 * come here would interrupt a system call that is about to go on. */
void signals_cancel_on(struct sys_cancel was, const void *context)
{
    uint64_t mask;
    if (RT_LIKELY(was.type != PTHREAD_CANCEL_ASYNCHRONOUS)) {
        sys_cancel_on(was);
        return;
    }
    memcpy(&mask, &((const ucontext_t *)context)->uc_sigmask, sizeof mask);
    pthread_cleanup_push(leave, &mask);
    sys_cancel_on(was);
    pthread_cleanup_pop(0);
}

bool signals_cancel_again(const siginfo_t *info, const void *context)
{
    if (!interrupt_has_code(info, INTERRUPT_CANCEL))
        return false;
    struct sys_cancel cancel = sys_cancel_off();
    cancel.type = PTHREAD_CANCEL_ASYNCHRONOUS;
    signals_cancel_on(cancel, context);
    return true;
}
