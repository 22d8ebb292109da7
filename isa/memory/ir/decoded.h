/* SPDX-License-Identifier: BSD-3-Clause
 * An instruction of a function with its operands: decoded once, for all steps of the analysis. */
#ifndef REGTRACE_ISA_MEMORY_IR_DECODED_H
#define REGTRACE_ISA_MEMORY_IR_DECODED_H

#include "isa/memory/skel.h"

struct decoded {
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[]; /* z.operand_count of them, and zeros up to DECODED_OPERANDS */
};

enum { DECODED_OPERANDS = 4 };

/* Returns the function's instruction of this number, or NULL if its bytes are no instruction.
 * Belongs to the function's arena. */
const struct decoded *decoded_of(struct function *f, uint32_t at);

#endif
