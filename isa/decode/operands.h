/* SPDX-License-Identifier: BSD-3-Clause
 * Facts about memory operands that the decoder's tables do not give. */
#ifndef REGTRACE_ISA_DECODE_OPERANDS_H
#define REGTRACE_ISA_DECODE_OPERANDS_H

#include <Zydis/Zydis.h>

#include <stdbool.h>

/* Returns whether the instruction names memory without an effect that the program sees: prefetches,
 * nops, cache control. */
bool operands_is_hint(const ZydisDecodedInstruction *z);
/* Returns whether the instruction may skip parts of the operand: EVEX masks, vmaskmov. */
bool operands_is_masked(const ZydisDecodedInstruction *z);
/* Returns whether this is bt, btc, btr or bts with the bit's number in a register: they reach
 * beyond their operand. */
bool operands_is_bit_string(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands);

#endif
