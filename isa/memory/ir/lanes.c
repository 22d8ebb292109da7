/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the elements of vector operands that are accessed, and emits code that records the
 * registers which select them. Encodings: Intel's manual, volume 2. */
#include "isa/memory/ir/lanes.h"

#include "isa/decode/operands.h"

#include <string.h>

static unsigned vector_bytes(ZydisRegister r)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_XMM: return 16;
    case ZYDIS_REGCLASS_YMM: return 32;
    case ZYDIS_REGCLASS_ZMM: return 64;
    default: return 0;
    }
}

static uint8_t number_of(ZydisRegister r)
{
    return (uint8_t)ZydisRegisterGetId(r);
}

static bool is_vector(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && vector_bytes(o->reg.value) != 0;
}

/* EVEX: the mask is a mask register. */
static void take_mask_register(struct lanes *l, const ZydisDecodedInstruction *z)
{
    l->mask = number_of(z->avx.mask.reg);
    l->mask_bytes = 0;
    l->mask_width = l->count > 16 ? 8 : 2;
}

static void take_mask_vector(struct lanes *l, const ZydisDecodedOperand *o, unsigned element)
{
    l->mask = number_of(o->reg.value);
    l->mask_bytes = (uint8_t)element;
    l->mask_width = (uint8_t)vector_bytes(o->reg.value);
}

/* The letter after "gather" or "scatter" tells the size of indices: q in vpgatherqd. */
static unsigned index_bytes(ZydisMnemonic m)
{
    const char *name = ZydisMnemonicGetString(m), *at = strstr(name, "gather");
    at = at != NULL ? at + 6 : (at = strstr(name, "scatter")) != NULL ? at + 7 : "";
    return *at == 'q' ? 8 : *at == 'd' ? 4 : 0;
}

static bool indexed(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, unsigned n,
                    struct lanes *l)
{
    unsigned element = o[n].element_size / 8, data = 0, of_data = 0;
    for (unsigned k = 0; k < z->operand_count_visible && data == 0; k++)
        if (is_vector(&o[k])) {
            data = vector_bytes(o[k].reg.value);
            of_data = k;
        }
    l->index_bytes = (uint8_t)index_bytes(z->mnemonic);
    if (l->index_bytes == 0 || element == 0 || data == 0)
        return false;
    l->kind = LANES_INDEXED;
    l->index = number_of(o[n].mem.index);
    l->index_width = (uint8_t)vector_bytes(o[n].mem.index);
    l->scale = (uint8_t)(o[n].mem.scale != 0 ? o[n].mem.scale : 1);
    unsigned indices = l->index_width / l->index_bytes, elements = data / element;
    l->count = (uint8_t)(indices < elements ? indices : elements);
    if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
        take_mask_register(l, z);
        return true;
    }
    for (unsigned k = of_data + 1; k < z->operand_count_visible; k++)
        if (is_vector(&o[k])) {
            take_mask_vector(l, &o[k], element);
            return true;
        }
    return false;
}

static bool packs(ZydisMnemonic m)
{
    const char *name = ZydisMnemonicGetString(m);
    return strstr(name, "compress") != NULL || strstr(name, "expand") != NULL;
}

static bool masked(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, unsigned n,
                   struct lanes *l)
{
    unsigned element = o[n].element_size / 8;
    if (element == 0)
        return false;
    l->count = (uint8_t)(o[n].size / o[n].element_size);
    l->kind = LANES_MASKED;
    if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
        if (packs(z->mnemonic))
            l->kind = LANES_PACKED;
        if (z->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID) {
            l->kind = LANES_ANY;
            l->count = (uint8_t)(z->avx.vector_length / 8 / element);
        }
        take_mask_register(l, z);
        return true;
    }
    /* The mask is the second operand, both of vmaskmov and of maskmovdqu. */
    if (z->operand_count_visible < 2 || !is_vector(&o[1]))
        return false;
    if (z->mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU || z->mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU) {
        element = 1;
        l->count = 16;
    }
    take_mask_vector(l, &o[1], element);
    return true;
}

bool lanes_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, unsigned n,
              struct lanes *out)
{
    *out = (struct lanes){.encoding = (uint8_t)z->encoding};
    if (o[n].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
        return indexed(z, o, n, out);
    return operands_is_masked(z) && masked(z, o, n, out);
}

unsigned lanes_element(const struct lanes *l, const ZydisDecodedOperand *o)
{
    return l->mask_bytes == 1 ? 1 : o->element_size / 8;
}

unsigned lanes_bytes(const struct lanes *l)
{
    return (unsigned)l->index_width + l->mask_width;
}

/* --- code ------------------------------------------------------------------------------------- */

enum { WITH_32 = 0x80, SIB = 4, NO_INDEX = 0x24 };

/* Emits ModRM, SIB if it is needed, and a 32-bit displacement, which is not scaled. */
static void put_operand(struct emit *e, unsigned reg, unsigned base, uint32_t offset)
{
    emit_byte(e, WITH_32 | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == SIB)
        emit_byte(e, NO_INDEX);
    emit_bytes(e, &offset, sizeof offset);
}

/* Emits C4, a byte with R and B inverted, and the last byte. */
static void put_vex(struct emit *e, unsigned reg, unsigned base, unsigned last)
{
    emit_byte(e, 0xc4);
    emit_byte(e, (reg > 7 ? 0u : 0x80u) | 0x40u | (base > 7 ? 0u : 0x20u) | 1u);
    emit_byte(e, last);
}

/* Emits the prefix of vmovdqu64, for zmm and for registers that VEX cannot name. */
static void put_evex(struct emit *e, unsigned reg, unsigned base, unsigned bytes)
{
    unsigned length = bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
    emit_byte(e, 0x62);
    emit_byte(e, ((reg & 8) != 0 ? 0u : 0x80u) | 0x40u | (base > 7 ? 0u : 0x20u) |
                     ((reg & 16) != 0 ? 0u : 0x10u) | 1u);
    emit_byte(e, 0xfe);
    emit_byte(e, length << 5 | 8u);
}

static void store_vector(struct emit *e, const struct lanes *l, unsigned reg, unsigned bytes,
                         unsigned base, uint32_t offset)
{
    if (l->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) {
        emit_byte(e, 0xf3);
        emit_byte(e, 0x40u | (reg > 7 ? 4u : 0u) | (base > 7 ? 1u : 0u));
        emit_byte(e, 0x0f);
    } else if (bytes == 64 || reg > 15) {
        put_evex(e, reg, base, bytes);
    } else {
        put_vex(e, reg, base, 0x78u | (bytes == 32 ? 4u : 0u) | 2u);
    }
    emit_byte(e, 0x7f);
    put_operand(e, reg, base, offset);
}

unsigned lanes_emit(struct emit *e, const struct lanes *l, unsigned base)
{
    if (l->index_width != 0)
        store_vector(e, l, l->index, l->index_width, base, 0);
    if (l->mask_bytes != 0) {
        store_vector(e, l, l->mask, l->mask_width, base, l->index_width);
    } else { /* kmovq, kmovw */
        put_vex(e, l->mask, base, l->mask_width == 8 ? 0xf8 : 0x78);
        emit_byte(e, 0x91);
        put_operand(e, l->mask, base, l->index_width);
    }
    return lanes_bytes(l);
}
