/* SPDX-License-Identifier: BSD-3-Clause
 * An instruction while it is lifted: lift.c finds the values it leaves in registers, access.c the
 * memory it uses. */
#ifndef REGTRACE_ISA_MEMORY_IR_LIFT_H
#define REGTRACE_ISA_MEMORY_IR_LIFT_H

#include "isa/memory/skel.h"

struct one {
    struct lifting *l;
    struct function *f;
    const struct instruction *i;
    const ZydisDecodedInstruction *z;
    const ZydisDecodedOperand *o;
    uint32_t block, at;
    /* memory operands: 1 + value of the address, before anything is written */
    uint32_t address[ZYDIS_MAX_OPERAND_COUNT];
};

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };
/* Registers that a called function need not preserve, a bit for each (psABI 3.2.1). */
enum { CHANGED_BY_CALLS = 1 << RAX | 1 << RCX | 1 << RDX | 1 << RSI | 1 << RDI | 0xf << 8 };

/* Returns the number of a general register; -1: it is another register. */
int lift_register(ZydisRegister r);
uint32_t lift_get(const struct one *x, unsigned variable);
/* Writes all 64 bits of a variable. A value that this instruction has computed is in the register
 * from then on, and can be recorded there. */
void lift_put(const struct one *x, unsigned variable, uint32_t value);
/* Writes an unknown value. */
void lift_put_unknown(const struct one *x, unsigned variable);
/* Returns the value of an operand, with zeros above its bits. */
uint32_t lift_operand(const struct one *x, unsigned n);
void lift_write(const struct one *x, unsigned n, uint32_t value);

/* lift_addresses() computes the addresses of memory operands; then lift_accesses() adds the
 * accesses. */
void lift_addresses(struct one *x);
void lift_accesses(const struct one *x);
bool lift_is_accessed(const struct one *x, unsigned n);
/* Describe a memory operand. lift_base() returns its base register, or -1; lift_displacement() what
 * is added to that, including how far push and pop move the stack pointer; lift_is_narrow() whether
 * only 32 bits of the address count. */
int lift_base(const struct one *x, const ZydisDecodedOperand *o);
int64_t lift_displacement(const struct one *x, const ZydisDecodedOperand *o);
bool lift_is_narrow(const struct one *x, const ZydisDecodedOperand *o);
struct access *lift_add_access(const struct one *x, enum access_kind kind, unsigned bytes,
                               uint32_t address);
/* Lifts movs, stos, lods, cmps and scas. Returns false for other instructions. */
bool lift_string(const struct one *x);

static inline uint32_t lift_number(const struct one *x, uint64_t n)
{
    return value_constant(x->f, n, false);
}

#endif
