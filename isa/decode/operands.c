/* SPDX-License-Identifier: BSD-3-Clause
 * Tells which instructions use their memory operands in unusual ways. */
#include "isa/decode/operands.h"

#include <string.h>

bool operands_is_hint(const ZydisDecodedInstruction *z)
{
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE: return true;
    default: break;
    }
    const char *name = ZydisMnemonicGetString(z->mnemonic);
    return z->mnemonic == ZYDIS_MNEMONIC_CLFLUSH || strstr(name, "gatherpf") != NULL ||
           strstr(name, "scatterpf") != NULL;
}

bool operands_is_masked(const ZydisDecodedInstruction *z)
{
    if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
        return z->avx.mask.reg != ZYDIS_REGISTER_NONE && z->avx.mask.reg != ZYDIS_REGISTER_K0;
    return strstr(ZydisMnemonicGetString(z->mnemonic), "maskmov") != NULL;
}

bool operands_is_bit_string(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands)
{
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTS:
        return operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
               operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    default: return false;
    }
}
