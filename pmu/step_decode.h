/* SPDX-License-Identifier: BSD-3-Clause
 * What the stepper needs to know of the instruction that comes next, and the interrupted code's
 * registers and memory. Of pmu/step*.c alone; x86-64. */
#ifndef REGTRACE_PMU_STEP_DECODE_H
#define REGTRACE_PMU_STEP_DECODE_H

#include "pmu/step.h"

#include <stddef.h>
#include <ucontext.h>

#define STEP_TRAP_FLAG 0x100u
#define STEP_TRAP_BIT sys_signal_bit(SIGTRAP)

enum step_kind {
    STEP_PLAIN,
    STEP_SYSCALL,
    STEP_INT_80,
    STEP_PUSHF,
    STEP_POPF,
    STEP_STRING, /* with a repeat prefix */
    STEP_MOV_SS, /* no trap comes before the instruction behind it has been executed */
    STEP_INT3
};

/* A string instruction that has no slot (step_x86_64.S). */
#define STEP_NO_SLOT 99u

struct step_instruction {
    enum step_kind kind;
    uint8_t length; /* 0 where nothing needs it */
    uint8_t rex, modrm;
    unsigned slot;  /* STEP_STRING */
    bool narrow;    /* an operand size prefix */
    bool elsewhere; /* an address size or segment prefix */
    bool wide_set;  /* may name r8 to r15 */
    bool jumps;     /* always, to step_jump_target() */
};

/* The instruction at ip; STEP_PLAIN where it cannot be read. */
struct step_instruction step_decode(struct pmu_step *s, uintptr_t ip);
/* The selector that a STEP_MOV_SS loads, and its length. Returns false where that is not known. */
bool step_new_ss(struct pmu_step *s, const ucontext_t *uc, struct step_instruction *i,
                 uint16_t *selector);

/* Where the jump at ip, which can be read, leads. */
uintptr_t step_jump_target(uintptr_t ip);

/* Copies n bytes between `here` and the program's memory by process_vm_readv or process_vm_writev.
 * Returns false where the program's pointer is wrong. */
bool step_copy(long call, uintptr_t there, void *here, size_t n);

static inline uintptr_t step_reg(const ucontext_t *uc, int r)
{
    return (uintptr_t)uc->uc_mcontext.gregs[r];
}

static inline void step_set_reg(ucontext_t *uc, int r, uint64_t value)
{
    uc->uc_mcontext.gregs[r] = (greg_t)value;
}

#endif
