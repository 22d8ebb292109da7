/* SPDX-License-Identifier: BSD-3-Clause
 * Memory operands for value profiling: selects the operand to describe, describes its address, and
 * tells whether it is accessed. */
#include "isa/decode/operands.h"
#include "isa/values/vp.h"

#include <string.h>

trace_value_t vp_register(ZydisRegister r)
{
    unsigned id = (unsigned)ZydisRegisterGetId(r);
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_GPR8:
        /* Zydis' order: al, cl, dl, bl, ah, ch, dh, bh, spl ... */
        return TRACE_GENERAL(r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH
                                 ? (unsigned)(r - ZYDIS_REGISTER_AH)
                             : r >= ZYDIS_REGISTER_SPL ? (unsigned)(r - ZYDIS_REGISTER_SPL) + 4
                                                       : (unsigned)(r - ZYDIS_REGISTER_AL));
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64: return TRACE_GENERAL(id);
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: return TRACE_VECTOR(id, 0);
    case ZYDIS_REGCLASS_MASK: return TRACE_MASK(id);
    case ZYDIS_REGCLASS_X87: return TRACE_X87(id);
    default: return 0;
    }
}

static bool is_written(const ZydisDecodedOperand *o)
{
    return (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

static bool is_read(const ZydisDecodedOperand *o)
{
    return (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

/* --- memory ----------------------------------------------------------------------------------- */

bool vp_is_accessed(const struct vp_decoded *d, const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           (o->mem.type == ZYDIS_MEMOP_TYPE_MEM || o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) &&
           (is_read(o) || is_written(o)) && !operands_is_hint(&d->z);
}

/* False for xlat: struct values_address cannot express its 8-bit index. */
static bool has_address(const struct vp_decoded *d, const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY && d->z.mnemonic != ZYDIS_MNEMONIC_XLAT;
}

/* Prefers a visible operand to a hidden one, then a written operand to one that is only read. */
int vp_find_memory(const struct vp_decoded *d)
{
    int found = -1, best = 0;
    for (int i = 0; i < d->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (!has_address(d, o))
            continue;
        int worth = 1 + (o->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ? 2 : 0) +
                    (is_written(o) ? 1 : 0);
        if (worth > best) {
            best = worth;
            found = i;
        }
    }
    return found;
}

bool vp_is_partial(const struct vp_decoded *d)
{
    return operands_is_masked(&d->z) || operands_is_bit_string(&d->z, d->operands) ||
           (d->memory >= 0 && d->operands[d->memory].mem.type == ZYDIS_MEMOP_TYPE_VSIB);
}

/* Returns the bytes of a VSIB index: the letter after "gather", "scatter" or their prefetches'
 * "pf0" and "pf1". */
static unsigned index_bytes(const ZydisDecodedInstruction *z)
{
    const char *name = ZydisMnemonicGetString(z->mnemonic), *at = strstr(name, "gather");
    if (at != NULL)
        at += strlen("gather");
    else if ((at = strstr(name, "scatter")) != NULL)
        at += strlen("scatter");
    else
        return 4;
    if (strncmp(at, "pf", 2) == 0)
        at += 3;
    return *at == 'q' ? 8 : 4;
}

/* Returns the bytes of a VSIB element, by the end of the mnemonic. */
static unsigned element_bytes(const ZydisDecodedInstruction *z)
{
    const char *name = ZydisMnemonicGetString(z->mnemonic);
    const char *last = name + strlen(name) - 1;
    return *last == 'q' || (*last == 'd' && last[-1] == 'p') ? 8 : 4;
}

static unsigned register_bits(ZydisRegister r)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_XMM: return 128;
    case ZYDIS_REGCLASS_YMM: return 256;
    case ZYDIS_REGCLASS_ZMM: return 512;
    default: return 0;
    }
}

static unsigned count_elements(const struct vp_decoded *d, const ZydisDecodedOperand *o)
{
    unsigned element = element_bytes(&d->z) * 8, index = index_bytes(&d->z) * 8, data = 512;
    for (int i = 0; i < d->z.operand_count_visible; i++)
        if (d->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            register_bits(d->operands[i].reg.value) != 0) {
            data = register_bits(d->operands[i].reg.value);
            break;
        }
    unsigned by_index = register_bits(o->mem.index) / index;
    return data / element < by_index ? data / element : by_index;
}

/* Returns the displacement from the registers as they are before the instruction. push, call, pop
 * and leave access the stack below or at the old stack pointer; the memory operand of pop counts
 * from rsp after the pop. */
static int64_t stack_displacement(const struct vp_decoded *d, const ZydisDecodedOperand *o)
{
    bool is_stack = o->mem.base == ZYDIS_REGISTER_RSP;
    if (is_stack && o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
        return is_written(o) ? -(int64_t)(o->size / 8) : 0;
    int64_t displacement = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
    if (is_stack && d->z.mnemonic == ZYDIS_MNEMONIC_POP)
        displacement += o->size / 8;
    return displacement;
}

static bool is_rip_relative(const ZydisDecodedOperand *o)
{
    return o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP;
}

void vp_describe_memory(struct vp_decoded *d)
{
    trace_memory_t *m = &d->inst.memory;
    if (d->memory < 0)
        return;
    const ZydisDecodedOperand *o = &d->operands[d->memory];
    bool vsib = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    m->is_rip_relative = is_rip_relative(o);
    m->displacement = stack_displacement(d, o);
    m->base = m->is_rip_relative ? 0 : vp_register(o->mem.base);
    m->index = vp_register(o->mem.index);
    m->scale = m->index != 0 ? o->mem.scale : 1;
    m->segment = o->mem.segment == ZYDIS_REGISTER_FS   ? 1
                 : o->mem.segment == ZYDIS_REGISTER_GS ? 2
                                                       : 0;
    m->is_32 = d->z.address_width == 32;
    m->elements = (unsigned char)(vsib ? count_elements(d, o) : 1);
    if (vp_is_accessed(d, o))
        m->bits = (unsigned short)(vsib ? element_bytes(&d->z) * 8 : o->size);
}

struct values_address vp_address_of(const struct vp_decoded *d, uint64_t at)
{
    struct values_address w = {.base = -1, .index = -1, .scale = 1};
    const trace_memory_t *m = &d->inst.memory;
    if (d->memory < 0)
        return w;
    const ZydisDecodedOperand *o = &d->operands[d->memory];
    w.displacement = m->displacement + (m->is_rip_relative ? (int64_t)(at + d->z.length) : 0);
    if (m->base != 0)
        w.base = (int8_t)TRACE_INDEX(m->base);
    if (m->index != 0)
        w.index = (int8_t)TRACE_INDEX(m->index);
    w.scale = m->scale;
    w.segment = m->segment;
    w.bytes = (uint8_t)(m->bits / 8 <= UINT8_MAX ? m->bits / 8 : UINT8_MAX);
    w.is_32 = m->is_32 != 0;
    if (o->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
        return w;
    w.element = (uint8_t)index_bytes(&d->z);
    ZydisRegister k = d->z.avx.mask.reg;
    if (d->z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
        if (k != ZYDIS_REGISTER_NONE && k != ZYDIS_REGISTER_K0)
            w.mask = (uint8_t)(1 + ZydisRegisterGetId(k));
    } else if (d->z.operand_count_visible == 3 &&
               d->operands[2].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        w.mask = (uint8_t)(64 + ZydisRegisterGetId(d->operands[2].reg.value));
    }
    return w;
}
