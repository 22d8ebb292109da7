/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the processor's real accesses from the decoder's own operands and the registers. */
#include "t/isa/memory/skeleton.h"

#include "isa/decode/operands.h"

static uint64_t stack_address(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
    if (z->mnemonic == ZYDIS_MNEMONIC_LEAVE)
        return now.r[5];
    return (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 ? now.r[4] - o->size / 8 : now.r[4];
}

unsigned real_addresses(struct real out[8])
{
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    ZydisRegisterContext c = {{0}};
    const uint8_t *bytes = image_at(code->image, now.pc - bias, 1);
    unsigned n = 0;
    if (bytes == NULL || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, 15, &z, o)) ||
        operands_is_hint(&z))
        return 0;
    for (int r = 0; r < 16; r++)
        c.values[ZYDIS_REGISTER_RAX + r] = now.r[r];
    for (int r = 0; r < 16; r++)
        c.values[ZYDIS_REGISTER_EAX + r] = (uint32_t)now.r[r];
    if (z.mnemonic == ZYDIS_MNEMONIC_POP)
        c.values[ZYDIS_REGISTER_RSP] += 8;
    for (int writes = 0; writes < 2; writes++)
        for (unsigned k = 0; k < z.operand_count && n < 8; k++) {
            bool read = (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
            if (o[k].type != ZYDIS_OPERAND_TYPE_MEMORY || o[k].mem.type != ZYDIS_MEMOP_TYPE_MEM ||
                read == (writes == 1) ||
                (!read && (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0))
                continue;
            bool hidden = o[k].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
            bool wrote = (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
            out[n].segment =
                o[k].mem.segment == ZYDIS_REGISTER_FS || o[k].mem.segment == ZYDIS_REGISTER_GS;
            out[n].kind = !wrote ? 'R' : read ? 'M' : 'W';
            out[n].bytes = o[k].size / 8;
            if (hidden &&
                (o[k].mem.base == ZYDIS_REGISTER_RSP || o[k].mem.base == ZYDIS_REGISTER_RBP))
                out[n].address = stack_address(&z, &o[k]);
            else if (!ZYAN_SUCCESS(
                         ZydisCalcAbsoluteAddressEx(&z, &o[k], now.pc, &c, &out[n].address)))
                continue;
            /* The decoder reports rbx as the address, without al. */
            if (z.mnemonic == ZYDIS_MNEMONIC_XLAT)
                out[n].address += (uint8_t)now.r[0];
            n++;
        }
    return n;
}

bool repeats(uint64_t pc)
{
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    const uint8_t *bytes = image_at(code->image, pc - bias, 1);
    return bytes != NULL && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, 15, &z, o)) &&
           (z.attributes &
            (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
}
