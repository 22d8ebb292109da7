/* SPDX-License-Identifier: BSD-3-Clause
 * Signals of the program that come while a thread is within an instruction's copy: there, registers
 * may hold values of the copy. A handler may send the thread elsewhere with them, and later to the
 * function itself. So the signal waits, blocked and queued once more, while single steps lead the
 * thread to the next place that the copy shares with the function. */
#include "preload/memory/memory_frames.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/memory/memory.h"
#include "preload/memory/memory_copies.h"

#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define REAL_TIME 32 /* the first real-time signal: these must come in their order */

static void set_mask_bits(ucontext_t *uc, uint64_t blocked, uint64_t unblocked)
{
    uint64_t mask;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    mask = (mask | blocked) & ~unblocked;
    memcpy(&uc->uc_sigmask, &mask, sizeof mask);
}

static bool is_system_call(uintptr_t at)
{
    enum { FIRST = 0x0f, SECOND = 0x05 };
    const uint8_t *code = (const uint8_t *)at; /* NOLINT: code of a copy */
    return code[0] == FIRST && code[1] == SECOND;
}

/* Is the thread in a copy where it cannot go on in the function itself? Directly before and after a
 * system call it is not: a signal that waits would not end the call. */
static bool is_amid(const ucontext_t *uc)
{
    uintptr_t at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    return memory_copies_have(at) && memory_copy_leave(at) == 0 && !is_system_call(at) &&
           !((uintptr_t)uc->uc_mcontext.gregs[REG_RCX] == at && is_system_call(at - 2));
}

/* The kernel has reset the action of a signal with SA_RESETHAND. A raised signal comes of the
 * instruction where it came. */
static bool can_wait(int signo, int flags, const siginfo_t *info)
{
    uint64_t bit = sys_signal_bit(signo);
    return signo < REAL_TIME && (flags & (int)SA_RESETHAND) == 0 && signo != SIGSEGV &&
           signo != SIGTRAP && (info->si_code <= 0 || (sys_raised_signals() & bit) == 0);
}

bool memory_delays(int signo, int flags, siginfo_t *info, void *context)
{
    ucontext_t *uc = memory_position.context; /* the program's; `context` may be of our handler */
    if (!memory_is_traced || uc == NULL || !can_wait(signo, flags, info) ||
        !memory_thread_ready() || !is_amid(uc))
        return false;
    uint64_t bit = sys_signal_bit(signo), mask = sys_block_signals();
    if (sys_call6(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), signo, (long)info, 0, 0) !=
        0) {
        sys_restore_signals(mask);
        return false;
    }
    set_mask_bits(context, bit, 0);
    set_mask_bits(uc, bit, 0);
    memory_self->delayed |= bit;
    memory_step(uc);
    return true;
}

void memory_delayed_come(void *context)
{
    ucontext_t *uc = context;
    set_mask_bits(uc, 0, memory_self->delayed);
    memory_self->delayed = 0;
}

void memory_delayed_step(void *context)
{
    ucontext_t *uc = context;
    if (is_amid(uc)) {
        memory_step(uc);
        return;
    }
    memory_step_no_more(uc);
    memory_delayed_come(uc);
}

#endif
