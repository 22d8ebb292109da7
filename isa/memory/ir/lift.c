/* SPDX-License-Identifier: BSD-3-Clause
 * Lifts instructions to values. Instructions that are not understood leave unknown values in the
 * registers that they write. */
#include "isa/memory/ir/decoded.h"
#include "isa/memory/ir/slots.h"

#include <string.h>

int lift_register(ZydisRegister r)
{
    if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
        return (int)(r - ZYDIS_REGISTER_AH);
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_GPR8:
        return r >= ZYDIS_REGISTER_SPL ? (int)(r - ZYDIS_REGISTER_SPL) + 4
                                       : (int)(r - ZYDIS_REGISTER_AL);
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64: return ZydisRegisterGetId(r);
    default: return -1;
    }
}

static bool is_high(ZydisRegister r)
{
    return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH;
}

uint32_t lift_get(const struct one *x, unsigned variable)
{
    return x->l->read(x->l, variable);
}

/* Notes that the register holds the value after the instruction: all of it, or as many low bytes as
 * the value has. */
static void note_place(const struct one *x, unsigned variable, uint32_t value)
{
    struct value *v = &x->f->values[value];
    if (v->block == x->block && v->at == x->at && variable < SKEL_FLAGS && v->kind != V_PHI &&
        v->kind != V_ENTRY && v->kind != V_CONSTANT && v->variable == SKEL_VARIABLES) {
        v->variable = (uint8_t)variable;
        v->recordable = true;
    }
}

void lift_put(const struct one *x, unsigned variable, uint32_t value)
{
    note_place(x, variable, value);
    x->l->write(x->l, variable, value);
}

void lift_put_unknown(const struct one *x, unsigned variable)
{
    uint32_t v = value_new(x->f, V_OPAQUE, 64);
    if (variable == SKEL_FLAGS)
        x->f->values[v].variable = SKEL_FLAGS;
    lift_put(x, variable, v);
}

static uint32_t op(const struct one *x, enum value_kind kind, unsigned bits, uint32_t a, uint32_t b)
{
    return value_op(x->f, kind, bits, 0, a, b, 0);
}

static uint32_t zext(const struct one *x, unsigned bits, uint32_t a)
{
    return bits == 64 ? a : op(x, V_ZEXT, bits, a, 0);
}

uint32_t lift_operand(const struct one *x, unsigned n)
{
    const ZydisDecodedOperand *o = &x->o[n];
    if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return lift_number(x, o->imm.value.u);
    if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        int slot = slots_of(x, n);
        if (slot != SLOT_NONE)
            return value_copy(x->f, o->size, lift_get(x, (unsigned)slot));
        uint32_t loaded = value_new(x->f, V_LOAD, o->size);
        x->f->values[loaded].constant = x->address[n];
        return loaded;
    }
    int r = lift_register(o->reg.value);
    if (r < 0)
        return value_new(x->f, V_OPAQUE, 64);
    if (is_high(o->reg.value))
        return value_op(x->f, V_EXTRACT, 8, 8, lift_get(x, (unsigned)r), 0, 0);
    return zext(x, ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value),
                lift_get(x, (unsigned)r));
}

void lift_write(const struct one *x, unsigned n, uint32_t value)
{
    const ZydisDecodedOperand *o = &x->o[n];
    int r = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? lift_register(o->reg.value) : -1;
    int slot = slots_of(x, n);
    if (slot != SLOT_NONE) {
        x->l->stored = (int)n;
        slots_overwrite(x, n, slot);
        x->l->write(x->l, (unsigned)slot, zext(x, o->size, value));
    }
    if (r < 0)
        return;
    unsigned bits = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value);
    if (bits < 32 && !is_high(o->reg.value) && value_fits(x->f, value, bits))
        note_place(x, (unsigned)r, value);
    if (bits >= 32)
        value = zext(x, bits, value);
    else
        value = value_op(x->f, V_INSERT, bits, is_high(o->reg.value) ? 8 : 0,
                         lift_get(x, (unsigned)r), value, 0);
    lift_put(x, (unsigned)r, value);
}

/* --- flags ------------------------------------------------------------------------------------ */

static void put_flags(const struct one *x, enum value_kind kind, unsigned bits, uint32_t a,
                      uint32_t b)
{
    uint32_t v = value_op(x->f, kind, bits, 0, a, b, 0);
    x->f->values[v].variable = SKEL_FLAGS;
    lift_put(x, SKEL_FLAGS, v);
}

static uint32_t test(const struct one *x, unsigned condition)
{
    return value_op(x->f, V_TEST, 64, condition & 15, lift_get(x, SKEL_FLAGS), 0, 0);
}

static bool changes_flags(const ZydisDecodedInstruction *z)
{
    return z->cpu_flags != NULL && (z->cpu_flags->modified | z->cpu_flags->set_0 |
                                    z->cpu_flags->set_1 | z->cpu_flags->undefined) != 0;
}

/* --- instructions ----------------------------------------------------------------------------- */

static unsigned width(const struct one *x, unsigned n)
{
    return x->o[n].size;
}

static bool same_register(const struct one *x)
{
    return x->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           x->o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && x->o[0].reg.value == x->o[1].reg.value;
}

static void two(const struct one *x, enum value_kind kind, enum value_kind flags, bool writes)
{
    unsigned bits = width(x, 0);
    bool zero = same_register(x) && (kind == V_XOR || kind == V_SUB);
    uint32_t a = zero ? lift_number(x, 0) : lift_operand(x, 0);
    uint32_t b = zero ? lift_number(x, 0) : lift_operand(x, 1);
    uint32_t result =
        same_register(x) && (kind == V_AND || kind == V_OR) ? a : op(x, kind, bits, a, b);
    if (writes)
        lift_write(x, 0, result);
    put_flags(x, flags, bits, flags == V_FLAGS_LOGIC ? result : a, b);
}

/* adc and sbb. */
static void with_carry(const struct one *x, enum value_kind kind)
{
    unsigned bits = width(x, 0);
    uint32_t carry = test(x, 2);
    uint32_t a = same_register(x) && kind == V_SUB ? lift_number(x, 0) : lift_operand(x, 0);
    uint32_t b = same_register(x) && kind == V_SUB ? a : lift_operand(x, 1);
    lift_write(x, 0, op(x, kind, bits, op(x, kind, bits, a, b), carry));
    lift_put_unknown(x, SKEL_FLAGS);
}

static void step(const struct one *x, bool up)
{
    unsigned bits = width(x, 0);
    uint32_t result = op(x, V_ADD, bits, lift_operand(x, 0), lift_number(x, up ? 1 : ~UINT64_C(0)));
    uint32_t before = lift_get(x, SKEL_FLAGS);
    lift_write(x, 0, result);
    put_flags(x, V_FLAGS_STEP, bits, result, before);
    x->f->values[lift_get(x, SKEL_FLAGS)].constant = up ? 1 : ~UINT64_C(0);
}

static void shift(const struct one *x, enum value_kind kind, bool flags)
{
    unsigned bits = width(x, 0);
    uint32_t count = lift_operand(x, 1);
    uint64_t n = x->f->values[count].constant & (bits == 64 ? 63 : 31);
    bool fixed = x->f->values[count].kind == V_CONSTANT;
    uint32_t result = op(x, kind, bits, lift_operand(x, 0), count);
    lift_write(x, 0, result);
    if (!flags || (fixed && n == 0))
        return;
    if (fixed && kind != V_ROL)
        put_flags(x, V_FLAGS_RESULT, bits, result, 0);
    else
        lift_put_unknown(x, SKEL_FLAGS);
}

static void rotate_right(const struct one *x)
{
    unsigned bits = width(x, 0);
    uint32_t count = lift_operand(x, 1);
    lift_write(
        x, 0,
        op(x, V_ROL, bits, lift_operand(x, 0), op(x, V_SUB, 64, lift_number(x, bits), count)));
    lift_put_unknown(x, SKEL_FLAGS);
}

/* Lifts the forms with two and three operands. The form with one also writes rdx. */
static bool multiply(const struct one *x)
{
    if (x->z->operand_count_visible < 2)
        return false;
    bool three = x->z->operand_count_visible == 3;
    lift_write(
        x, 0,
        op(x, V_MUL, width(x, 0), lift_operand(x, three ? 1 : 0), lift_operand(x, three ? 2 : 1)));
    lift_put_unknown(x, SKEL_FLAGS);
    return true;
}

static void extend_accumulator(const struct one *x, unsigned from, unsigned to)
{
    uint32_t v = op(x, V_SEXT, from, lift_get(x, RAX), 0);
    lift_put(x, RAX,
             to == 16 ? value_op(x->f, V_INSERT, 16, 0, lift_get(x, RAX), v, 0) : zext(x, to, v));
}

/* cwd, cdq, cqo: fill rdx with the sign of rax. */
static void spread_sign(const struct one *x, unsigned bits)
{
    uint32_t sign = op(x, V_SAR, 64, op(x, V_SEXT, bits, lift_get(x, RAX), 0), lift_number(x, 63));
    lift_put(x, RDX,
             bits == 16 ? value_op(x->f, V_INSERT, 16, 0, lift_get(x, RDX), sign, 0)
                        : zext(x, bits, sign));
}

static void exchange(const struct one *x)
{
    uint32_t a = lift_operand(x, 0), b = lift_operand(x, 1);
    lift_write(x, 0, b);
    lift_write(x, 1, a);
}

static void address(const struct one *x)
{
    /* lea has no access, so its address is computed here. */
    ZydisDecodedInstruction z = *x->z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT] = {{0}};
    memcpy(o, x->o, z.operand_count * sizeof *o);
    z.mnemonic = ZYDIS_MNEMONIC_MOV;
    o[1].actions = ZYDIS_OPERAND_ACTION_READ;
    o[1].mem.type = ZYDIS_MEMOP_TYPE_MEM;
    o[1].mem.segment = ZYDIS_REGISTER_DS;
    struct one copy = *x;
    copy.z = &z;
    copy.o = o;
    lift_addresses(&copy);
    lift_write(x, 0, copy.address[1] - 1);
}

static void conditional_move(const struct one *x)
{
    uint32_t condition = test(x, x->z->opcode), other = lift_operand(x, 1);
    lift_write(x, 0, value_op(x->f, V_SELECT, 64, 0, condition, other, lift_operand(x, 0)));
}

static void stack(const struct one *x, int64_t bytes)
{
    lift_put(x, RSP, op(x, V_ADD, 64, lift_get(x, RSP), lift_number(x, (uint64_t)bytes)));
}

/* Returns the number of the operand that is moved to or from the stack. */
static unsigned stack_operand(const struct one *x)
{
    unsigned n = 0;
    while (n + 1 < x->z->operand_count && (x->o[n].type != ZYDIS_OPERAND_TYPE_MEMORY ||
                                           x->o[n].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN))
        n++;
    return n;
}

static void push(const struct one *x)
{
    uint32_t word = lift_operand(x, 0);
    lift_write(x, stack_operand(x), word);
    stack(x, -(int64_t)(x->z->operand_width / 8));
}

static void pop(const struct one *x)
{
    uint32_t word = lift_operand(x, stack_operand(x));
    stack(x, x->o[0].size / 8);
    lift_write(x, 0, word);
}

static void leave(const struct one *x)
{
    uint32_t frame = lift_get(x, RBP), word = lift_operand(x, stack_operand(x));
    lift_put(x, RSP, op(x, V_ADD, 64, frame, lift_number(x, 8)));
    lift_put(x, RBP, word);
}

static void call(const struct one *x)
{
    if (x->i->form.flow == FLOW_CALL && x->i->target == x->i->next) { /* to get its own address */
        stack(x, -8);
        return;
    }
    slots_call(x);
    for (unsigned r = 0; r < SKEL_FLAGS; r++)
        if ((CHANGED_BY_CALLS >> r & 1) != 0)
            lift_put_unknown(x, r);
    lift_put_unknown(x, SKEL_FLAGS);
}

/* --- decisions -------------------------------------------------------------------------------- */

static void decide(const struct one *x, uint32_t value)
{
    struct function *f = x->f;
    f->decisions = arena_grow(f->arena, f->decisions, f->decision_count, sizeof *f->decisions);
    f->decisions[f->decision_count++] = (struct decision){.block = x->block, .value = value};
}

/* In a copy, the loop instruction comes after everything that is recorded of its block. */
static void put_counter(const struct one *x, uint32_t left)
{
    lift_put(x, RCX, left);
    x->f->values[left].recordable = false;
}

static void branch(const struct one *x)
{
    uint32_t v, flags;
    switch (x->z->mnemonic) {
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
        flags = value_op(x->f, V_FLAGS_LOGIC, x->z->mnemonic == ZYDIS_MNEMONIC_JRCXZ ? 64 : 32, 0,
                         lift_get(x, RCX), 0, 0);
        v = value_op(x->f, V_TEST, 64, 4, flags, 0, 0);
        break;
    case ZYDIS_MNEMONIC_LOOP:
        put_counter(x, op(x, V_SUB, 64, lift_get(x, RCX), lift_number(x, 1)));
        flags = value_op(x->f, V_FLAGS_LOGIC, 64, 0, lift_get(x, RCX), 0, 0);
        v = value_op(x->f, V_TEST, 64, 5, flags, 0, 0);
        break;
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
        put_counter(x, value_new(x->f, V_OPAQUE, 64));
        v = value_new(x->f, V_OPAQUE, 64);
        break;
    default: v = test(x, x->z->opcode); break;
    }
    decide(x, v);
}

/* --- dispatch --------------------------------------------------------------------------------- */

static void unknown(const struct one *x)
{
    for (unsigned n = 0; n < x->z->operand_count; n++) {
        const ZydisDecodedOperand *o = &x->o[n];
        int r = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? lift_register(o->reg.value) : -1;
        if (r >= 0 && (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
            lift_put_unknown(x, (unsigned)r);
    }
    /* The kernel's result in rax is no operand of the instruction. */
    if (x->z->meta.category == ZYDIS_CATEGORY_SYSCALL ||
        x->z->meta.category == ZYDIS_CATEGORY_INTERRUPT)
        lift_put_unknown(x, RAX);
    if (changes_flags(x->z))
        lift_put_unknown(x, SKEL_FLAGS);
}

static bool lift_arithmetic(const struct one *x)
{
    switch (x->z->mnemonic) {
    case ZYDIS_MNEMONIC_ADD: two(x, V_ADD, V_FLAGS_ADD, true); return true;
    case ZYDIS_MNEMONIC_SUB: two(x, V_SUB, V_FLAGS_SUB, true); return true;
    case ZYDIS_MNEMONIC_CMP: two(x, V_SUB, V_FLAGS_SUB, false); return true;
    case ZYDIS_MNEMONIC_AND: two(x, V_AND, V_FLAGS_LOGIC, true); return true;
    case ZYDIS_MNEMONIC_TEST: two(x, V_AND, V_FLAGS_LOGIC, false); return true;
    case ZYDIS_MNEMONIC_OR: two(x, V_OR, V_FLAGS_LOGIC, true); return true;
    case ZYDIS_MNEMONIC_XOR: two(x, V_XOR, V_FLAGS_LOGIC, true); return true;
    case ZYDIS_MNEMONIC_ADC: with_carry(x, V_ADD); return true;
    case ZYDIS_MNEMONIC_SBB: with_carry(x, V_SUB); return true;
    case ZYDIS_MNEMONIC_INC: step(x, true); return true;
    case ZYDIS_MNEMONIC_DEC: step(x, false); return true;
    case ZYDIS_MNEMONIC_NOT: lift_write(x, 0, op(x, V_NOT, 64, lift_operand(x, 0), 0)); return true;
    case ZYDIS_MNEMONIC_NEG: {
        uint32_t a = lift_operand(x, 0), zero = lift_number(x, 0);
        lift_write(x, 0, op(x, V_SUB, width(x, 0), zero, a));
        put_flags(x, V_FLAGS_SUB, width(x, 0), zero, a);
        return true;
    }
    case ZYDIS_MNEMONIC_SHL: shift(x, V_SHL, true); return true;
    case ZYDIS_MNEMONIC_SHR: shift(x, V_SHR, true); return true;
    case ZYDIS_MNEMONIC_SAR: shift(x, V_SAR, true); return true;
    case ZYDIS_MNEMONIC_ROL: shift(x, V_ROL, true); return true;
    case ZYDIS_MNEMONIC_ROR: rotate_right(x); return true;
    case ZYDIS_MNEMONIC_IMUL: return multiply(x);
    default: return false;
    }
}

static bool lift_move(const struct one *x)
{
    switch (x->z->mnemonic) {
    case ZYDIS_MNEMONIC_MOV: lift_write(x, 0, lift_operand(x, 1)); return true;
    case ZYDIS_MNEMONIC_MOVZX: lift_write(x, 0, lift_operand(x, 1)); return true;
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        lift_write(x, 0, op(x, V_SEXT, width(x, 1), lift_operand(x, 1), 0));
        return true;
    case ZYDIS_MNEMONIC_LEA: address(x); return true;
    case ZYDIS_MNEMONIC_XCHG: exchange(x); return true;
    case ZYDIS_MNEMONIC_CBW: extend_accumulator(x, 8, 16); return true;
    case ZYDIS_MNEMONIC_CWDE: extend_accumulator(x, 16, 32); return true;
    case ZYDIS_MNEMONIC_CDQE: extend_accumulator(x, 32, 64); return true;
    case ZYDIS_MNEMONIC_CWD: spread_sign(x, 16); return true;
    case ZYDIS_MNEMONIC_CDQ: spread_sign(x, 32); return true;
    case ZYDIS_MNEMONIC_CQO: spread_sign(x, 64); return true;
    case ZYDIS_MNEMONIC_PUSH: push(x); return true;
    case ZYDIS_MNEMONIC_PUSHFQ: stack(x, -(int64_t)(x->z->operand_width / 8)); return true;
    case ZYDIS_MNEMONIC_POP: pop(x); return true;
    case ZYDIS_MNEMONIC_POPFQ:
        stack(x, 8);
        lift_put_unknown(x, SKEL_FLAGS);
        return true;
    case ZYDIS_MNEMONIC_LEAVE: leave(x); return true;
    default: return false;
    }
}

static bool lift_flow(const struct one *x)
{
    switch ((enum flow)x->i->form.flow) {
    case FLOW_BRANCH: branch(x); return true;
    case FLOW_CALL:
    case FLOW_CALL_POINTER: call(x); return true;
    case FLOW_JUMP_POINTER:
        if (x->f->blocks[x->block].end == END_TABLE)
            decide(x, lift_operand(x, 0));
        return true;
    case FLOW_JUMP:
    case FLOW_RETURN:
    case FLOW_END: return true;
    case FLOW_NEXT: break;
    }
    return false;
}

static void lift_all(const struct one *x)
{
    ZydisInstructionCategory c = x->z->meta.category;
    if (lift_string(x))
        return;
    lift_accesses(x);
    if (lift_flow(x) || lift_arithmetic(x) || lift_move(x) || c == ZYDIS_CATEGORY_NOP ||
        c == ZYDIS_CATEGORY_WIDENOP)
        return;
    if (c == ZYDIS_CATEGORY_CMOV)
        conditional_move(x);
    else if (c == ZYDIS_CATEGORY_SETCC)
        lift_write(x, 0, test(x, x->z->opcode));
    else
        unknown(x);
}

void lift_instruction(struct lifting *l)
{
    struct function *f = l->f;
    const struct decoded *d = decoded_of(f, f->now_at);
    struct one x = {.l = l, .f = f, .i = &f->instructions[f->now_at]};
    x.block = f->now_block;
    x.at = f->now_at;
    if (d == NULL) {
        f->reason = "bytes that are no instruction";
        f->reason_at = x.i->at;
        return;
    }
    x.z = &d->z;
    x.o = d->o;
    lift_addresses(&x);
    l->stored = SLOT_NONE;
    lift_all(&x);
    for (unsigned n = 0; n < x.z->operand_count; n++)
        if ((x.o[n].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 && (int)n != l->stored)
            slots_overwrite(&x, n, SLOT_NONE);
}
