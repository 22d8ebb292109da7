/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the memory that an instruction uses: addresses of its operands, before it changes anything,
 * and its accesses in order. */
#include "isa/memory/ir/lift.h"

#include "isa/decode/operands.h"
#include "isa/memory/ir/lanes.h"

#include <string.h>

static bool is_read(const ZydisDecodedOperand *o)
{
    return (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

static bool is_written(const ZydisDecodedOperand *o)
{
    return (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

bool lift_is_accessed(const struct one *x, unsigned n)
{
    const ZydisDecodedOperand *o = &x->o[n];
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           (o->mem.type == ZYDIS_MEMOP_TYPE_MEM || o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) &&
           (is_read(o) || is_written(o)) && !operands_is_hint(x->z);
}

/* push and call write below the old stack pointer. The operand of pop is relative to the stack
 * pointer after the pop. */
int64_t lift_displacement(const struct one *x, const ZydisDecodedOperand *o)
{
    bool is_stack = o->mem.base == ZYDIS_REGISTER_RSP;
    if (is_stack && o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
        return is_written(o) ? -(int64_t)(o->size / 8) : 0;
    int64_t n = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
    return is_stack && x->z->mnemonic == ZYDIS_MNEMONIC_POP ? n + o->size / 8 : n;
}

static uint32_t sum(const struct one *x, uint32_t a, uint32_t b)
{
    return value_op(x->f, V_ADD, 64, 0, a, b, 0);
}

/* Returns the offset of the word that holds the bit: bits count from the operand on, in both
 * directions, in steps of its size. */
static uint32_t bit_string_offset(const struct one *x)
{
    unsigned bits = x->o[0].size;
    uint32_t shift = lift_number(x, bits == 64 ? 6 : bits == 32 ? 5 : 4);
    uint32_t number = value_op(x->f, V_SEXT, bits, 0, lift_operand(x, 1), 0, 0);
    return value_op(x->f, V_MUL, 64, 0, value_op(x->f, V_SAR, 64, 0, number, shift, 0),
                    lift_number(x, bits / 8), 0);
}

int lift_base(const struct one *x, const ZydisDecodedOperand *o)
{
    /* leave: the stack pointer equals the frame pointer by then */
    return lift_register(x->z->mnemonic == ZYDIS_MNEMONIC_LEAVE ? ZYDIS_REGISTER_RBP : o->mem.base);
}

bool lift_is_narrow(const struct one *x, const ZydisDecodedOperand *o)
{
    /* Implied stack operands do not use 32-bit addresses. */
    bool implied =
        o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP;
    return x->z->address_width == 32 && !implied;
}

static uint32_t address_of(const struct one *x, const ZydisDecodedOperand *o)
{
    struct function *f = x->f;
    uint64_t n = (uint64_t)lift_displacement(x, o);
    int base = lift_base(x, o), index = lift_register(o->mem.index);
    uint32_t a;
    if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP) {
        a = value_constant(f, x->i->next + n, f->code->image->dynamic_type);
    } else if (base < 0) {
        a = lift_number(x, n);
    } else {
        a = sum(x, lift_get(x, (unsigned)base), lift_number(x, n));
    }
    if (index >= 0) {
        uint32_t scaled = lift_get(x, (unsigned)index);
        if (o->mem.scale > 1)
            scaled = value_op(f, V_MUL, 64, 0, scaled, lift_number(x, o->mem.scale), 0);
        a = sum(x, scaled, a);
    }
    if (operands_is_bit_string(x->z, x->o))
        a = sum(x, a, bit_string_offset(x));
    if (x->z->mnemonic == ZYDIS_MNEMONIC_XLAT)
        a = sum(x, a, value_op(f, V_ZEXT, 8, 0, lift_get(x, RAX), 0, 0));
    if (lift_is_narrow(x, o))
        a = value_op(f, V_ZEXT, 32, 0, a, 0, 0);
    if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS) {
        uint32_t s = value_new(f, V_SEGMENT, 64);
        f->values[s].constant = o->mem.segment == ZYDIS_REGISTER_GS;
        a = sum(x, a, s);
    }
    return a;
}

void lift_addresses(struct one *x)
{
    for (unsigned n = 0; n < x->z->operand_count; n++)
        x->address[n] = lift_is_accessed(x, n) ? 1 + address_of(x, &x->o[n]) : 0;
}

struct access *lift_add_access(const struct one *x, enum access_kind kind, unsigned bytes,
                               uint32_t address)
{
    struct function *f = x->f;
    f->accesses = arena_grow(f->arena, f->accesses, f->access_count, sizeof *f->accesses);
    struct access *a = &f->accesses[f->access_count++];
    *a = (struct access){.block = x->block,
                         .at = x->at,
                         .kind = (uint8_t)kind,
                         .bytes = (uint16_t)bytes,
                         .address = address,
                         .count = address};
    return a;
}

static void refuse(const struct one *x)
{
    x->f->reason = "a vector instruction of which nobody knows what it accesses";
    x->f->reason_at = x->i->at;
}

/* Adds reads first, then writes. */
void lift_accesses(const struct one *x)
{
    for (int writes = 0; writes < 2; writes++)
        for (unsigned n = 0; n < x->z->operand_count; n++) {
            const ZydisDecodedOperand *o = &x->o[n];
            if (x->address[n] == 0 || is_read(o) == (writes == 1))
                continue;
            struct lanes lanes;
            bool some = lanes_of(x->z, x->o, n, &lanes);
            if (!some && (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB || operands_is_masked(x->z)))
                refuse(x);
            struct access *a =
                lift_add_access(x,
                                writes          ? ACCESS_WRITE
                                : is_written(o) ? ACCESS_MODIFY
                                                : ACCESS_READ,
                                some ? lanes_element(&lanes, o) : o->size / 8, x->address[n] - 1);
            a->segment = (uint8_t)(o->mem.segment == ZYDIS_REGISTER_FS   ? 1
                                   : o->mem.segment == ZYDIS_REGISTER_GS ? 2
                                                                         : 0);
            if (some)
                a->lanes = memcpy(arena_take(x->f->arena, sizeof lanes), &lanes, sizeof lanes);
        }
}

/* --- string instructions ---------------------------------------------------------------------- */

static bool is_string(ZydisMnemonic m, bool *source, bool *target, bool *compares)
{
    switch (m) {
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSQ: *source = *target = true; return true;
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ: *target = true; return true;
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ: *source = true; return true;
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ: *source = *target = *compares = true; return true;
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ: *target = *compares = true; return true;
    default: return false;
    }
}

/* Advances upwards: the ABI defines the direction flag so between functions. */
static void advance(const struct one *x, unsigned variable, uint32_t by, bool known)
{
    if (known)
        lift_put(x, variable, sum(x, lift_get(x, variable), by));
    else
        lift_put_unknown(x, variable);
}

bool lift_string(const struct one *x)
{
    bool source = false, target = false, compares = false;
    if (x->z->meta.category != ZYDIS_CATEGORY_STRINGOP ||
        !is_string(x->z->mnemonic, &source, &target, &compares))
        return false;
    bool repeats = (x->z->attributes &
                    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
    bool narrow = x->z->address_width == 32; /* ecx, esi and edi: compilers do not use these */
    uint32_t first = x->f->access_count, count = lift_get(x, RCX);
    unsigned bytes = x->z->operand_width / 8;
    if (narrow)
        count = value_op(x->f, V_ZEXT, 32, 0, count, 0, 0);
    lift_accesses(x);
    if (repeats && compares) { /* the rest in rcx tells how often */
        lift_put_unknown(x, RCX);
        count = value_op(x->f, V_SUB, 64, 0, count, lift_get(x, RCX), 0);
    } else if (repeats) {
        lift_put(x, RCX, lift_number(x, 0));
    }
    for (uint32_t k = first; k < x->f->access_count; k++) {
        x->f->accesses[k].repeated = repeats;
        x->f->accesses[k].count = count;
        x->f->accesses[k].ends_early = repeats && compares;
    }
    uint32_t by = lift_number(x, bytes);
    if (repeats)
        by = value_op(x->f, V_MUL, 64, 0, count, by, 0);
    if (source)
        advance(x, RSI, by, !narrow);
    if (target)
        advance(x, RDI, by, !narrow);
    if (compares)
        lift_put_unknown(x, SKEL_FLAGS);
    if (source && !target) /* lods */
        lift_put_unknown(x, RAX);
    return true;
}
