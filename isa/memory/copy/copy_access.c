/* SPDX-License-Identifier: BSD-3-Clause
 * Records addresses in an instrumented copy: computes them before the instruction, from its own
 * operands, without a change of flags. */
#include "isa/decode/operands.h"
#include "isa/memory/copy/copier.h"
#include "isa/memory/ir/decoded.h"

bool copier_decode(struct copier *c, const struct instruction *i, struct one *x)
{
    const struct decoded *d = decoded_of(c->f, (uint32_t)(i - c->f->instructions));
    *x = (struct one){.f = c->f, .i = i};
    if (d == NULL)
        return false;
    x->z = &d->z;
    x->o = d->o;
    return true;
}

/* Returns the operand of an access, or NULL. An instruction's reads come first (lift.h). */
static const ZydisDecodedOperand *operand_of(struct copier *c, struct one *x, uint32_t block,
                                             const struct access *a)
{
    uint32_t before = 0;
    MEMBERS_EACH (&c->accesses, block, n)
        before += c->f->accesses[*n].at == a->at && &c->f->accesses[*n] < a;
    for (int writes = 0; writes < 2; writes++)
        for (unsigned n = 0; n < x->z->operand_count; n++) {
            bool reads = (x->o[n].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
            if (lift_is_accessed(x, n) && reads != (writes == 1) && before-- == 0)
                return &x->o[n];
        }
    return NULL;
}

static struct emit_memory memory_of(const struct one *x, const ZydisDecodedOperand *o)
{
    int base = lift_base(x, o), index = lift_register(o->mem.index);
    return (struct emit_memory){.base = base < 0 ? EMIT_NONE : (unsigned)base,
                                .index = index < 0 ? EMIT_NONE : (unsigned)index,
                                .scale = o->mem.scale,
                                .narrow = lift_is_narrow(x, o),
                                .offset = lift_displacement(x, o)};
}

/* Returns the registers that hold values to be recorded next. */
static uint16_t held(const struct copier *c)
{
    uint16_t busy = 0;
    for (unsigned k = 0; k < c->item_count; k++)
        busy |= c->items[k].is_number ? 0 : (uint16_t)(1u << c->items[k].reg);
    return busy;
}

static void put_address(struct copier *c, const struct one *x, const ZydisDecodedOperand *o,
                        unsigned t)
{
    struct emit_memory m = memory_of(x, o);
    if (o->mem.base == ZYDIS_REGISTER_RIP) {
        emit_address(c->e, t, x->i->memory);
    } else if (x->z->mnemonic == ZYDIS_MNEMONIC_XLAT) {
        emit_low_byte(c->e, t, RAX);
        m.index = t;
        m.scale = 1;
        emit_lea_of(c->e, t, &m);
    } else if (m.base == EMIT_NONE && m.index == EMIT_NONE && m.offset != (int32_t)m.offset) {
        emit_move_number(c->e, t, (uint64_t)m.offset);
    } else {
        emit_lea_of(c->e, t, &m);
    }
}

static void add_register(struct copier *c, unsigned reg, uint16_t live)
{
    copier_add(c, (struct copy_item){.bytes = 8, .reg = (uint8_t)reg}, live);
}

void copier_record_address(struct copier *c, const struct access *a, uint32_t block)
{
    const struct instruction *i = &c->f->instructions[a->at];
    uint16_t live = live_before(&c->live, block, a->at);
    struct one x;
    const ZydisDecodedOperand *o = copier_decode(c, i, &x) ? operand_of(c, &x, block, a) : NULL;
    if (o == NULL || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN || o->mem.base == ZYDIS_REGISTER_EIP ||
        operands_is_bit_string(x.z, x.o)) {
        copier_refuse(c, "an access of which only the instruction itself knows the address");
        return;
    }
    struct emit_memory m = memory_of(&x, o);
    bool plain = m.base != EMIT_NONE && m.index == EMIT_NONE && m.offset == 0 && !m.narrow &&
                 x.z->mnemonic != ZYDIS_MNEMONIC_XLAT;
    if (plain) {
        add_register(c, m.base, live);
    } else {
        bool spill;
        uint16_t uses = x.z->mnemonic == ZYDIS_MNEMONIC_XLAT ? c->live.uses[a->at] : 0;
        if (c->item_count == GROUP) /* else adding `t` would flush it, when `t` is taken already */
            copier_flush(c, live);
        unsigned t = copier_take_register(c, live, held(c) | uses, &spill);
        if (spill) {
            copier_flush(c, live);
            emit_slot_store(c->e, COPY_SPILL_2, t);
        }
        put_address(c, &x, o, t);
        add_register(c, t, live);
        if (spill) {
            copier_flush(c, live);
            emit_slot_load(c->e, COPY_SPILL_2, t);
        }
    }
    if (a->repeated)
        add_register(c, RCX, live);
}

void copier_record_left(struct copier *c, uint32_t block, uint32_t at, uint16_t live)
{
    bool ends_early = false;
    MEMBERS_EACH (&c->accesses, block, n) {
        const struct access *a = &c->f->accesses[*n];
        ends_early = ends_early || (a->at == at && a->recorded && a->ends_early);
    }
    if (ends_early)
        add_register(c, RCX, live);
}
