/* SPDX-License-Identifier: BSD-3-Clause
 * Computes liveness of general registers and flags, backwards over blocks until nothing changes. */
#include "isa/memory/ir/live.h"

#include "isa/memory/ir/decoded.h"
#include "isa/memory/ir/lift.h"

enum {
    ALL = 0xffff,
    /* what a function returns, and the registers that it preserves */
    AT_RETURN = 1 << RAX | 1 << RDX | (ALL & ~CHANGED_BY_CALLS),
    AT_SYSTEM_CALL = 1 << RAX | 1 << RDI | 1 << RSI | 1 << RDX | 1 << 10 | 1 << 8 | 1 << 9,
};

static uint16_t bit(ZydisRegister r)
{
    int n = lift_register(r);
    return n < 0 ? 0 : (uint16_t)(1u << n);
}

static bool is_zeroing(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
    return (z->mnemonic == ZYDIS_MNEMONIC_XOR || z->mnemonic == ZYDIS_MNEMONIC_SUB) &&
           o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           o[0].reg.value == o[1].reg.value && o[0].size >= 32;
}

static void note_register(struct live *l, uint32_t n, const ZydisDecodedOperand *o, bool zeroing)
{
    uint16_t b = bit(o->reg.value);
    bool writes = (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    bool whole = (o->actions & ZYDIS_OPERAND_ACTION_WRITE) != 0 && o->size >= 32;
    if (((o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 && !zeroing) || (writes && !whole))
        l->uses[n] |= b;
    if (writes && whole)
        l->kills[n] |= b;
    if (writes)
        l->written |= b;
    l->touched |= b;
}

enum {
    STATUS =
        ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF
};
enum { FLAGS_USED = 1, FLAGS_KILLED = 2 };

/* Shifts by a register, and repeated comparisons, may leave the flags as they were. */
static bool changes_always(const ZydisDecodedInstruction *z)
{
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD: return false;
    default:
        return (z->attributes &
                (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) == 0;
    }
}

static uint8_t flags_of(const ZydisDecodedInstruction *z)
{
    uint8_t what = 0;
    if (z->cpu_flags == NULL)
        return 0;
    unsigned changed = z->cpu_flags->modified | z->cpu_flags->set_0 | z->cpu_flags->set_1 |
                       z->cpu_flags->undefined;
    if ((z->cpu_flags->tested & STATUS) != 0)
        what |= FLAGS_USED;
    if ((changed & STATUS) == STATUS && changes_always(z))
        what |= FLAGS_KILLED;
    return what;
}

/* May this operand fault? Offsets in the frame and addresses in the image do not. */
static bool may_fault(const ZydisDecodedOperand *o)
{
    bool fixed = o->mem.index == ZYDIS_REGISTER_NONE && o->mem.segment != ZYDIS_REGISTER_FS &&
                 (o->mem.base == ZYDIS_REGISTER_RSP || o->mem.base == ZYDIS_REGISTER_RIP);
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_MEM && !fixed;
}

static void note_instruction(struct live *l, uint32_t n)
{
    const struct instruction *i = &l->f->instructions[n];
    const struct decoded *d = decoded_of(l->f, n);
    if (d == NULL) {
        l->uses[n] = ALL;
        l->flags[n] = FLAGS_USED;
        l->touched = ALL;
        return;
    }
    const ZydisDecodedOperand *o = d->o;
    l->flags[n] = flags_of(&d->z);
    bool zeroing = is_zeroing(&d->z, o), faults = false;
    for (unsigned k = 0; k < d->z.operand_count; k++) {
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER)
            note_register(l, n, &o[k], zeroing);
        else if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
            l->uses[n] |= (uint16_t)(bit(o[k].mem.base) | bit(o[k].mem.index));
        faults |= may_fault(&o[k]);
    }
    l->touched |= l->uses[n];
    /* A handler may skip an instruction that faults. Its registers then hold what they held. */
    if (faults)
        l->uses[n] |= l->kills[n];
    if (i->form.flow == FLOW_CALL || i->form.flow == FLOW_CALL_POINTER) {
        l->uses[n] = ALL;
        l->kills[n] = 0;
        l->flags[n] = FLAGS_KILLED;
    } else if (d->z.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
        l->uses[n] |= AT_SYSTEM_CALL;
    }
}

static uint16_t after_block(const struct live *l, const struct block *b)
{
    uint16_t out = 0;
    if (b->end == END_RETURN)
        return AT_RETURN;
    /* Tables may have more entries than were found. */
    if (b->end == END_TAIL || b->end == END_NORETURN || b->end == END_TABLE)
        return ALL;
    for (uint32_t s = 0; s < b->succ_count; s++)
        out |= l->in[b->succ[s]];
    return out;
}

uint16_t live_before(const struct live *l, uint32_t block, uint32_t at)
{
    return (uint16_t)((live_after(l, block, at) & ~l->kills[at]) | l->uses[at]);
}

uint16_t live_after(const struct live *l, uint32_t block, uint32_t at)
{
    const struct block *b = &l->f->blocks[block];
    uint16_t live = after_block(l, b);
    for (uint32_t n = b->first + b->count; n-- > at + 1;)
        live = (uint16_t)((live & ~l->kills[n]) | l->uses[n]);
    return live;
}

static uint16_t into(const struct live *l, uint32_t block)
{
    const struct block *b = &l->f->blocks[block];
    return b->count != 0 ? live_before(l, block, b->first) : after_block(l, b);
}

static bool flags_into(const struct live *l, uint32_t block)
{
    const struct block *b = &l->f->blocks[block];
    bool matter = false;
    for (uint32_t n = b->first; n < b->first + b->count; n++)
        if (l->flags[n] != 0)
            return (l->flags[n] & FLAGS_USED) != 0;
    for (uint32_t s = 0; s < b->succ_count && b->end < END_RETURN; s++)
        matter = matter || l->flags_in[b->succ[s]];
    return matter;
}

struct live live_find(struct function *f)
{
    size_t each = ((size_t)f->instruction_count + 1) * sizeof(uint16_t);
    struct live l = {.f = f,
                     .uses = arena_take(f->arena, each),
                     .kills = arena_take(f->arena, each),
                     .in = arena_take(f->arena, ((size_t)f->block_count + 1) * sizeof(uint16_t)),
                     .flags = arena_take(f->arena, (size_t)f->instruction_count + 1),
                     .flags_in = arena_take(f->arena, ((size_t)f->block_count + 1) * sizeof(bool))};
    for (uint32_t k = 0; k < f->order_count; k++) {
        const struct block *b = &f->blocks[f->order[k]];
        for (uint32_t n = b->first; n < b->first + b->count; n++)
            if (l.uses[n] == 0 && l.kills[n] == 0)
                note_instruction(&l, n);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = f->order_count; k-- > 0;) {
            uint16_t in = into(&l, f->order[k]);
            bool flags = flags_into(&l, f->order[k]);
            changed = changed || in != l.in[f->order[k]] || flags != l.flags_in[f->order[k]];
            l.in[f->order[k]] = in;
            l.flags_in[f->order[k]] = flags;
        }
    }
    return l;
}
