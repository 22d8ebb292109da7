/* SPDX-License-Identifier: BSD-3-Clause
 * An instruction while it is lifted: lift.c what registers it leaves, access.c what memory it uses. */
#ifndef REGTRACE_ISA_MEMORY_IR_LIFT_H
#define REGTRACE_ISA_MEMORY_IR_LIFT_H

#include "isa/memory/skel.h"

struct one {
    struct lifting *l;
    struct function *f;
    const struct instruction *i;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    uint32_t block, at;
    uint32_t address
        [ZYDIS_MAX_OPERAND_COUNT]; /* of memory operands, before anything is written: value + 1 */
};

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

/* General registers by number; -1: another. */
int lift_register(ZydisRegister r);
uint32_t lift_get(const struct one *x, unsigned variable);
/* All 64 bits of it. What this instruction has computed is in the register from then on, and can be recorded there. */
void lift_put(const struct one *x, unsigned variable, uint32_t value);
/* Whatever the instruction leaves in it. */
void lift_put_unknown(const struct one *x, unsigned variable);
/* The value of an operand, zeros above its bits. */
uint32_t lift_operand(const struct one *x, unsigned n);
void lift_write(const struct one *x, unsigned n, uint32_t value);

/* Addresses of memory operands, then accesses. */
void lift_addresses(struct one *x);
void lift_accesses(const struct one *x);
bool lift_is_accessed(const struct one *x, unsigned n);
/* Of a memory operand: the register it begins at, -1: none; what is added, with what push and pop move the stack pointer by; whether 32 bits of
 * it count. */
int lift_base(const struct one *x, const ZydisDecodedOperand *o);
int64_t lift_displacement(const struct one *x, const ZydisDecodedOperand *o);
bool lift_is_narrow(const struct one *x, const ZydisDecodedOperand *o);
struct access *lift_add_access(const struct one *x, enum access_kind kind, unsigned bytes,
                               uint32_t address);
/* Movs, stos, lods, cmps, scas; false: it is none. */
bool lift_string(const struct one *x);

static inline uint32_t lift_number(const struct one *x, uint64_t n)
{
    return value_constant(x->f, n, false);
}

#endif
