/* SPDX-License-Identifier: BSD-3-Clause
 * Faults at the end of what a recording has room for: they are SIGSEGV, which reaches us although the program handles or blocks it. */
#include "preload/memory.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/memory_frames.h"
#include "preload/interpose.h"

#include <sys/syscall.h>
#include <ucontext.h>

bool memory_is_fault(int signo)
{
    return process.memory && signo == SIGSEGV;
}

static __thread bool withheld;

void memory_withhold(void)
{
    withheld = true;
}

void memory_unblocked(void)
{
    if (!withheld || (signals_hidden & sys_signal_bit(SIGSEGV)) != 0)
        return;
    withheld = false;
    (void)sys_call6(SYS_tgkill, sys_getpid(), sys_gettid(), SIGSEGV, 0, 0, 0);
}

long long *memory_pointer(void *context)
{
    static const uint8_t places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
    ucontext_t *uc = context;
    const uint8_t *code = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP]; /* NOLINT: code */
    return &uc->uc_mcontext.gregs[places[memory_store_base(code)]];
}

#endif
