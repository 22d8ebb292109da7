/* SPDX-License-Identifier: BSD-3-Clause
 * Faults at the end of a recording's buffer: they raise SIGSEGV, which reaches us even if the
 * program handles or blocks it. */
#include "preload/memory/memory.h"

#if defined(__x86_64__)

#include "base/format/copy.h"
#include "base/sys.h"
#include "preload/libc/interpose.h"
#include "preload/memory/memory_file.h"
#include "preload/memory/memory_frames.h"
#include "preload/memory/probe_copies.h"

#include <sys/syscall.h>
#include <ucontext.h>

bool memory_is_fault(int signo)
{
    return memory_is_traced && signo == SIGSEGV;
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

/* Returns the register through which a copy stores, if the thread stands at such a store. */
static greg_t *pointer_of(ucontext_t *uc)
{
    static const uint8_t places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
    const uint8_t *code = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP]; /* NOLINT: code */
    return &uc->uc_mcontext.gregs[places[memory_store_base(code)]];
}

bool memory_faulted(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    uintptr_t at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    struct memory_file *file = memory_file_now();
    if (!memory_is_fault(signo) || info->si_code <= 0 || file == NULL || !probe_copies_have(at) ||
        !memory_file_has(file, (uintptr_t)info->si_addr))
        return false;
    greg_t *pointer = pointer_of(uc);
    bool was_open = memory_file_is_open(file);
    *pointer = (greg_t)memory_file_more(file, (uintptr_t)*pointer);
    copy_slots[COPY_RECORDING] = (uint64_t)*pointer;
    if (was_open && !memory_file_is_open(file)) {
        memory_has_no_room();
        memory_leave_made(uc);
    }
    return true;
}

#endif
