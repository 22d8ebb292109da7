/* SPDX-License-Identifier: BSD-3-Clause
 * Faults at the end of a recording's buffer: they raise SIGSEGV, which reaches us even if the
 * program handles or blocks it. */
#include "preload/memory/memory.h"

#if defined(__x86_64__)

#include "base/format/copy.h"
#include "base/sys.h"
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory_file.h"
#include "preload/memory/memory_frames.h"
#include "preload/memory/memory_copies.h"

#include <sys/syscall.h>
#include <ucontext.h>

bool memory_is_fault(int signo)
{
    return memory_is_traced && signo == SIGSEGV;
}

/* Returns the register that holds the pointer in a copy's store (isa/memory/copy/emit.c, lanes.c):
 * ModRM follows the prefixes and the opcode, SIB follows ModRM. Intel's manual, volume 2. */
static unsigned store_base(const uint8_t *code)
{
    enum { OPERAND_16 = 0x66, REPEAT = 0xf3, VEX = 0xc4, EVEX = 0x62, MORE = 0x0f };
    const uint8_t *modrm;
    unsigned high;
    if (*code == VEX || *code == EVEX) {
        high = (code[1] & 0x20) == 0;
        modrm = code + (*code == VEX ? 4 : 5);
    } else {
        code += *code == OPERAND_16 || *code == REPEAT;
        high = code[0] & 1; /* REX */
        modrm = code + (code[1] == MORE ? 3 : 2);
    }
    unsigned rm = *modrm & 7;
    return (rm == 4 ? modrm[1] & 7u : rm) | high << 3;
}

/* Returns the register through which a copy stores, if the thread stands at such a store. */
static greg_t *pointer_of(ucontext_t *uc)
{
    static const uint8_t places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
    const uint8_t *code = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP]; /* NOLINT: code */
    return &uc->uc_mcontext.gregs[places[store_base(code)]];
}

bool memory_faulted(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    uintptr_t at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    struct memory_file *file = memory_file_now();
    if (!memory_is_fault(signo) || info->si_code <= 0 || file == NULL || !memory_copies_have(at) ||
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
