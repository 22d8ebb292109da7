/* SPDX-License-Identifier: BSD-3-Clause
 * The stepper's view of the next instruction, and access to the registers and memory of the
 * interrupted code. For pmu/step*.c only; x86-64. */
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
    STEP_MOV_SS, /* traps only after the instruction that follows it */
    STEP_INT3
};

/* Slot number of a string instruction without a slot (step_x86_64.S). */
#define STEP_NO_SLOT 99u

struct step_instruction {
    enum step_kind kind;
    uint8_t length; /* 0 if nothing needs it */
    uint8_t rex, modrm;
    unsigned slot;  /* slot of a STEP_STRING */
    bool narrow;    /* has an operand size prefix */
    bool elsewhere; /* has an address size or segment prefix */
    bool wide_set;  /* may name r8 to r15 */
    bool jumps;     /* unconditionally, to step_jump_target() */
};

/* Decodes the instruction at ip. Returns STEP_PLAIN if the bytes cannot be read. */
struct step_instruction step_decode(struct pmu_step *s, uintptr_t ip);
/* Finds the selector that a STEP_MOV_SS loads, and completes its length. Returns false if the
 * selector is unknown. */
bool step_new_ss(struct pmu_step *s, const ucontext_t *uc, struct step_instruction *i,
                 uint16_t *selector);

/* Sends the SIGTRAP that waits for the program, unless the program blocks it. In step_flag.c. */
void step_send_withheld(struct pmu_step *s);

/* Returns the target of the jump at ip. The bytes at ip must be readable. */
uintptr_t step_jump_target(uintptr_t ip);

/* Copies n bytes between `here` and the program's memory by process_vm_readv or process_vm_writev.
 * Returns false if the program's pointer is invalid. */
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
