/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the stack slots of a function (slots.h): tracks the distances of the stack pointer and the
 * frame pointer from the stack pointer at entry, instruction by instruction. */
#include "isa/memory/ir/slots.h"

#include "isa/memory/ir/decoded.h"

#include <string.h>

#define UNKNOWN INT32_MIN

struct state {
    bool set;
    struct frame at;
};

struct slot_finder {
    struct function *f;
    struct state *in; /* by block */
    struct one x;
    struct frame now;
    bool escapes;
};

static ZydisRegister whole(ZydisRegister r)
{
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
}

static bool is_frame_register(const struct frame *s, ZydisRegister r)
{
    return whole(r) == ZYDIS_REGISTER_RSP || (whole(r) == ZYDIS_REGISTER_RBP && s->rbp != UNKNOWN);
}

static bool is_register(const struct one *x, unsigned n, ZydisRegister r)
{
    return x->o[n].type == ZYDIS_OPERAND_TYPE_REGISTER && x->o[n].reg.value == r;
}

static bool is_frame_operand(const struct frame *s, const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           (is_frame_register(s, o->mem.base) || is_frame_register(s, o->mem.index));
}

static int32_t at_of(const struct frame *s, const struct one *x, const ZydisDecodedOperand *o)
{
    int base = lift_base(x, o);
    int32_t from = base == RSP ? s->rsp : base == RBP ? s->rbp : UNKNOWN;
    return from == UNKNOWN ? UNKNOWN : from + (int32_t)lift_displacement(x, o);
}

/* --- moves of the stack pointer --------------------------------------------------------------- */

/* Handles lea, mov, add and sub of the two registers themselves. Returns whether it has. */
static bool moves(struct slot_finder *s)
{
    const struct one *x = &s->x;
    struct frame *now = &s->now;
    bool to_rsp = is_register(x, 0, ZYDIS_REGISTER_RSP),
         to_rbp = is_register(x, 0, ZYDIS_REGISTER_RBP);
    int32_t at = UNKNOWN;
    if (!to_rsp && !to_rbp)
        return false;
    if (x->z->mnemonic == ZYDIS_MNEMONIC_LEA && x->o[1].mem.index == ZYDIS_REGISTER_NONE &&
        x->z->address_width == 64)
        at = at_of(now, x, &x->o[1]);
    else if (x->z->mnemonic == ZYDIS_MNEMONIC_MOV && is_register(x, 1, ZYDIS_REGISTER_RSP))
        at = now->rsp;
    else if (x->z->mnemonic == ZYDIS_MNEMONIC_MOV && is_register(x, 1, ZYDIS_REGISTER_RBP))
        at = now->rbp;
    else if (to_rsp && x->o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
             (x->z->mnemonic == ZYDIS_MNEMONIC_ADD || x->z->mnemonic == ZYDIS_MNEMONIC_SUB))
        at = now->rsp + (int32_t)(x->z->mnemonic == ZYDIS_MNEMONIC_ADD ? x->o[1].imm.value.s
                                                                       : -x->o[1].imm.value.s);
    if (at == UNKNOWN)
        return false;
    *(to_rsp ? &now->rsp : &now->rbp) = at;
    return true;
}

static void step_stack(struct slot_finder *s)
{
    const struct one *x = &s->x;
    int32_t word = x->z->operand_width / 8;
    switch (x->z->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ: s->now.rsp -= word; return;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ: s->now.rsp += word; return;
    case ZYDIS_MNEMONIC_LEAVE:
        s->escapes = s->escapes || s->now.rbp == UNKNOWN;
        s->now.rsp = s->now.rbp + 8;
        s->now.rbp = UNKNOWN;
        return;
    case ZYDIS_MNEMONIC_CALL:
        s->now.rsp -= x->i->form.flow == FLOW_CALL && x->i->target == x->i->next ? 8 : 0;
        return;
    case ZYDIS_MNEMONIC_RET: return;
    default: break;
    }
    for (unsigned n = 0; n < x->z->operand_count; n++)
        s->escapes = s->escapes || (is_register(x, n, ZYDIS_REGISTER_RSP) &&
                                    (x->o[n].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0);
}

/* --- escapes of the frame's address ----------------------------------------------------------- */

static void add_slot(struct function *f, int32_t at, unsigned bytes)
{
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return;
    for (unsigned k = 0; k < f->slot_count; k++)
        if (f->slots[k].at == at && f->slots[k].bytes == bytes)
            return;
    if (f->slot_count < SLOTS_MOST)
        f->slots[f->slot_count++] = (struct slot){at, (uint8_t)bytes};
}

static void look_at_operand(struct slot_finder *s, unsigned n)
{
    const struct one *x = &s->x;
    const ZydisDecodedOperand *o = &x->o[n];
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        bool hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
        bool read = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 ||
                    whole(o->reg.value) == ZYDIS_REGISTER_RSP;
        s->escapes = s->escapes || (!hidden && read && is_frame_register(&s->now, o->reg.value));
        return;
    }
    if (!is_frame_operand(&s->now, o) &&
        !(x->z->mnemonic == ZYDIS_MNEMONIC_LEAVE && o->type == ZYDIS_OPERAND_TYPE_MEMORY))
        return;
    int32_t at = at_of(&s->now, x, o);
    bool whole_width =
        x->z->address_width == 64 || o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (at == UNKNOWN || o->mem.type != ZYDIS_MEMOP_TYPE_MEM || !whole_width || o->size < 8 ||
        o->mem.index != ZYDIS_REGISTER_NONE)
        s->escapes = true;
    else if (x->z->meta.category != ZYDIS_CATEGORY_CALL &&
             x->z->meta.category != ZYDIS_CATEGORY_RET)
        add_slot(s->f, at, o->size / 8);
}

/* A frame pointer that receives another value does not point to the frame any more. */
static void lose_pointer(struct slot_finder *s)
{
    for (unsigned n = 0; n < s->x.z->operand_count; n++) {
        const ZydisDecodedOperand *o = &s->x.o[n];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && whole(o->reg.value) == ZYDIS_REGISTER_RBP &&
            (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
            s->now.rbp = UNKNOWN;
    }
}

static void look_at(struct slot_finder *s, uint32_t at)
{
    struct one *x = &s->x;
    x->f = s->f;
    x->i = &s->f->instructions[at];
    s->f->frame[at] = s->now;
    const struct decoded *d = decoded_of(s->f, at);
    if (d == NULL) {
        s->escapes = true;
        return;
    }
    x->z = &d->z;
    x->o = d->o;
    if (moves(s))
        return;
    for (unsigned n = 0; n < x->z->operand_count && !s->escapes; n++)
        look_at_operand(s, n);
    if (x->z->mnemonic != ZYDIS_MNEMONIC_LEAVE)
        lose_pointer(s);
    step_stack(s);
}

static void leave_block(struct slot_finder *s, const struct block *b)
{
    for (uint32_t n = 0; n < b->succ_count; n++) {
        struct state *to = &s->in[b->succ[n]];
        if (!to->set)
            *to = (struct state){true, s->now};
        else if (to->at.rsp != s->now.rsp || to->at.rbp != s->now.rbp)
            s->escapes = true;
    }
}

void slots_find(struct function *f)
{
    struct slot_finder s = {.f = f};
    f->slot_count = 0;
    if (f->late)
        return;
    s.in = arena_take(f->arena, f->block_count * sizeof *s.in);
    f->frame = arena_take(f->arena, f->instruction_count * sizeof *f->frame);
    f->slots = arena_take(f->arena, SLOTS_MOST * sizeof *f->slots);
    for (uint32_t k = 0; k < f->order_count && !s.escapes; k++) {
        const struct block *b = &f->blocks[f->order[k]];
        const struct state *in = &s.in[f->order[k]];
        s.now = k == 0 ? (struct frame){0, UNKNOWN} : in->at;
        s.escapes = k != 0 && !in->set;
        for (uint32_t i = 0; i < b->count && !s.escapes; i++)
            look_at(&s, b->first + i);
        leave_block(&s, b);
    }
    if (s.escapes)
        f->slot_count = 0;
}

/* --- contents of slots ------------------------------------------------------------------------ */

static bool place_of(const struct one *x, unsigned n, int32_t *at)
{
    if (x->f->slot_count == 0 || !lift_is_accessed(x, n))
        return false;
    const struct frame *frame = &x->f->frame[x->at];
    if (x->z->mnemonic != ZYDIS_MNEMONIC_LEAVE && !is_frame_operand(frame, &x->o[n]))
        return false;
    *at = at_of(frame, x, &x->o[n]);
    return true;
}

int slots_of(const struct one *x, unsigned n)
{
    int32_t at;
    if (!place_of(x, n, &at))
        return SLOT_NONE;
    for (unsigned k = 0; k < x->f->slot_count; k++)
        if (x->f->slots[k].at == at && x->f->slots[k].bytes == x->o[n].size / 8)
            return SLOT_FIRST + (int)k;
    return SLOT_NONE;
}

static void forget(const struct one *x, unsigned slot)
{
    x->l->write(x->l, SLOT_FIRST + slot, value_new(x->f, V_OPAQUE, 64));
}

void slots_overwrite(const struct one *x, unsigned n, int but)
{
    int32_t at;
    if (!place_of(x, n, &at))
        return;
    for (unsigned k = 0; k < x->f->slot_count; k++) {
        const struct slot *s = &x->f->slots[k];
        if (SLOT_FIRST + (int)k != but && s->at < at + x->o[n].size / 8 && at < s->at + s->bytes)
            forget(x, k);
    }
}

void slots_call(const struct one *x)
{
    for (unsigned k = 0; k < x->f->slot_count; k++)
        if (x->f->slots[k].at < x->f->frame[x->at].rsp)
            forget(x, k);
}
