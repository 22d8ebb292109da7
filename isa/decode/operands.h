/* SPDX-License-Identifier: BSD-3-Clause
 * What an instruction does with its memory operand, as far as the decoder's tables do not say it. */
#ifndef REGTRACE_ISA_DECODE_OPERANDS_H
#define REGTRACE_ISA_DECODE_OPERANDS_H

#include <Zydis/Zydis.h>

#include <stdbool.h>

/* Memory is named, to no end that the program sees: prefetches, nops, cache control. */
bool operands_is_hint(const ZydisDecodedInstruction *z);
/* Parts of the operand may be left out: EVEX masks, vmaskmov. */
bool operands_is_masked(const ZydisDecodedInstruction *z);
/* bt and its kin with the bit's number in a register reach beyond their operand. */
bool operands_is_bit_string(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands);

#endif
