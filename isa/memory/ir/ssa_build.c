/* SPDX-License-Identifier: BSD-3-Clause
 * Builds the SSA form of a function while its instructions are read (Braun, Buchwald, Hack, Leissa,
 * Mallon, Zwinkau: "Simple and Efficient Construction of Static Single Assignment Form", CC
 * 2013). */
#include "isa/memory/direct_calls.h"
#include "isa/memory/ir/slots.h"

#include <string.h>

struct pending {
    uint32_t phi;
    uint8_t variable;
    struct pending *next;
};

struct ssa {
    struct function *f;
    uint32_t *defined; /* by block and variable: 1 + value */
    unsigned variables;
    bool *filled, *sealed;
    struct pending **pending; /* phis that lack some predecessors yet */
    uint32_t *alias;          /* phis that equal one other value: 1 + that value */
    uint32_t alias_room;
};

/* --- values ----------------------------------------------------------------------------------- */

uint32_t value_new(struct function *f, enum value_kind kind, unsigned bits)
{
    f->values = arena_grow(f->arena, f->values, f->value_count, sizeof *f->values);
    f->values[f->value_count] = (struct value){.kind = (uint8_t)kind,
                                               .bits = (uint8_t)bits,
                                               .variable = SKEL_VARIABLES,
                                               .block = f->now_block,
                                               .at = f->now_at};
    return f->value_count++;
}

uint32_t value_constant(struct function *f, uint64_t n, bool image)
{
    uint32_t v = value_new(f, V_CONSTANT, 64);
    f->values[v].constant = n;
    f->values[v].image = image;
    return v;
}

static uint64_t low(uint64_t x, unsigned bits)
{
    return bits >= 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

static uint64_t sign_extend(uint64_t x, unsigned bits)
{
    if (bits >= 64)
        return x;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (low(x, bits) ^ sign) - sign;
}

static uint64_t shifted(enum value_kind kind, unsigned bits, uint64_t x, uint64_t count)
{
    unsigned n = (unsigned)count & (bits == 64 ? 63 : 31);
    switch (kind) {
    case V_SHL: return x << n;
    case V_SHR: return low(x, bits) >> n;
    case V_SAR:
        return low(sign_extend(x, bits) >> n |
                       (n != 0 && sign_extend(x, bits) >> 63 != 0 ? ~UINT64_C(0) << (64 - n) : 0),
                   bits);
    default: break;
    }
    n %= bits;
    return n == 0 ? low(x, bits) : low(low(x, bits) << n | low(x, bits) >> (bits - n), bits);
}

bool value_compute(enum value_kind kind, unsigned bits, uint64_t constant, const uint64_t a[3],
                   uint64_t *out)
{
    uint64_t mask = low(~UINT64_C(0), bits);
    switch (kind) {
    case V_ADD: *out = a[0] + a[1]; return true;
    case V_SUB: *out = a[0] - a[1]; return true;
    case V_MUL: *out = a[0] * a[1]; return true;
    case V_AND: *out = a[0] & a[1]; return true;
    case V_OR: *out = a[0] | a[1]; return true;
    case V_XOR: *out = a[0] ^ a[1]; return true;
    case V_NOT: *out = ~a[0]; return true;
    case V_SHL:
    case V_SHR:
    case V_SAR:
    case V_ROL: *out = shifted(kind, bits, a[0], a[1]); return true;
    case V_ZEXT: *out = low(a[0], bits); return true;
    case V_SEXT: *out = sign_extend(a[0], bits); return true;
    case V_INSERT: *out = (a[0] & ~(mask << constant)) | (a[1] & mask) << constant; return true;
    case V_EXTRACT: *out = low(a[0] >> constant, bits); return true;
    case V_SELECT: *out = a[0] != 0 ? a[1] : a[2]; return true;
    default: return false;
    }
}

static bool is_number(const struct function *f, uint32_t v)
{
    return f->values[v].kind == V_CONSTANT && !f->values[v].image;
}

bool value_fits(const struct function *f, uint32_t v, unsigned bits)
{
    const struct value *x = &f->values[v];
    switch ((enum value_kind)x->kind) {
    case V_CONSTANT: return !x->image && low(x->constant, bits) == x->constant;
    case V_LOAD:
    case V_TABLE:
    case V_ZEXT:
    case V_SHR:
    case V_SAR:
    case V_ROL:
    case V_EXTRACT: return x->bits <= bits;
    case V_TEST: return true;
    case V_SELECT: return value_fits(f, x->args[1], bits) && value_fits(f, x->args[2], bits);
    case V_AND: return value_fits(f, x->args[0], bits) || value_fits(f, x->args[1], bits);
    default: return bits == 64;
    }
}

/* If only the low bits of a register are wanted, and only these were written, returns what was
 * written. */
static uint32_t low_part(const struct function *f, enum value_kind kind, unsigned bits, uint32_t a)
{
    while ((kind == V_ZEXT || kind == V_SEXT) && f->values[a].kind == V_INSERT &&
           f->values[a].constant == 0 && f->values[a].bits >= bits)
        a = f->values[a].args[1];
    return a;
}

uint32_t value_op(struct function *f, enum value_kind kind, unsigned bits, uint64_t constant,
                  uint32_t a, uint32_t b, uint32_t c)
{
    a = low_part(f, kind, bits, a);
    const uint32_t args[3] = {a, b, c};
    uint64_t numbers[3] = {0}, result;
    unsigned count = kind == V_SELECT ? 3
                     : kind == V_NOT || kind == V_ZEXT || kind == V_SEXT || kind == V_EXTRACT ||
                             kind == V_TEST || kind == V_FLAGS_LOGIC || kind == V_FLAGS_RESULT
                         ? 1
                         : 2;
    bool known = true;
    for (unsigned i = 0; i < count; i++) {
        known = known && is_number(f, args[i]);
        numbers[i] = known ? f->values[args[i]].constant : 0;
    }
    if (known && value_compute(kind, bits, constant, numbers, &result))
        return value_constant(f, result, false);
    if (kind == V_ZEXT && value_fits(f, a, bits))
        return a;
    if ((kind == V_ADD || kind == V_SUB) && is_number(f, b) && f->values[b].constant == 0)
        return a;
    uint32_t v = value_new(f, kind, bits);
    struct value *x = &f->values[v];
    x->constant = constant;
    x->arg_count = count;
    x->args = arena_take(f->arena, count * sizeof *x->args);
    memcpy(x->args, args, count * sizeof *x->args);
    return v;
}

uint32_t value_copy(struct function *f, unsigned bits, uint32_t a)
{
    if (is_number(f, a))
        return a;
    uint32_t v = value_new(f, V_ZEXT, bits);
    f->values[v].arg_count = 1;
    f->values[v].args = arena_take(f->arena, sizeof *f->values[v].args);
    f->values[v].args[0] = a;
    return v;
}

/* Returns whether flags of that kind determine the condition (as in Jcc's opcode). */
static bool tells(const struct function *f, const struct value *flags, unsigned condition)
{
    bool carry = condition == 2 || condition == 3 || condition == 6 || condition == 7;
    bool overflow = condition < 2 || condition >= 12;
    switch ((enum value_kind)flags->kind) {
    case V_FLAGS_SUB:
    case V_FLAGS_ADD:
    case V_FLAGS_LOGIC: return true;
    case V_FLAGS_RESULT: return !carry && !overflow;
    case V_FLAGS_STEP: return !carry || tells(f, &f->values[flags->args[1]], 2);
    default: return false;
    }
}

bool value_is_computed(const struct function *f, uint32_t v)
{
    const struct value *x = &f->values[v];
    if (x->kind == V_TEST)
        return tells(f, &f->values[x->args[0]], (unsigned)x->constant);
    if (x->kind == V_PHI)
        return x->variable != SKEL_FLAGS;
    return x->kind == V_CONSTANT || x->kind == V_SEGMENT || x->kind >= V_ADD;
}

bool value_is_passed(const struct function *f, uint32_t v)
{
    const struct value *x = &f->values[v];
    return x->kind == V_ENTRY && (x->variable == SKEL_RSP || (x->variable < SKEL_FLAGS &&
                                                              (f->passed >> x->variable & 1) != 0));
}

/* --- SSA -------------------------------------------------------------------------------------- */

static uint32_t *definition(const struct ssa *s, uint32_t block, unsigned variable)
{
    return &s->defined[(size_t)block * s->variables + variable];
}

static uint32_t new_phi(struct ssa *s, uint32_t block, unsigned variable)
{
    uint32_t v = value_new(s->f, V_PHI, 64);
    s->f->values[v].block = block;
    s->f->values[v].variable = (uint8_t)variable;
    s->f->values[v].recordable = variable < SKEL_FLAGS;
    *definition(s, block, variable) = v + 1;
    return v;
}

static uint32_t look_up(struct ssa *s, uint32_t block, unsigned variable);

static void add_operands(struct ssa *s, uint32_t phi)
{
    uint32_t block = s->f->values[phi].block, n = s->f->blocks[block].pred_count;
    uint32_t *args = arena_take(s->f->arena, n * sizeof *args);
    for (uint32_t k = 0; k < n; k++)
        args[k] = look_up(s, s->f->blocks[block].pred[k], s->f->values[phi].variable);
    s->f->values[phi].args = args;
    s->f->values[phi].arg_count = n;
}

static uint32_t look_up(struct ssa *s, uint32_t block, unsigned variable)
{
    uint32_t from = block, v;
    while (*definition(s, from, variable) == 0 && s->sealed[from] &&
           s->f->blocks[from].pred_count == 1)
        from = s->f->blocks[from].pred[0];
    if (*definition(s, from, variable) != 0) {
        v = *definition(s, from, variable) - 1;
    } else if (!s->sealed[from]) {
        v = new_phi(s, from, variable);
        struct pending *p = arena_take(s->f->arena, sizeof *p);
        *p = (struct pending){.phi = v, .variable = (uint8_t)variable, .next = s->pending[from]};
        s->pending[from] = p;
    } else if (s->f->blocks[from].pred_count == 0) {
        v = value_new(s->f, V_ENTRY, 64);
        s->f->values[v].block = from;
        s->f->values[v].variable = (uint8_t)variable;
        s->f->values[v].recordable = variable < SKEL_FLAGS;
        *definition(s, from, variable) = v + 1;
    } else {
        v = new_phi(s, from, variable);
        add_operands(s, v);
    }
    for (; block != from; block = s->f->blocks[block].pred[0])
        *definition(s, block, variable) = v + 1;
    return v;
}

static uint32_t read_variable(struct lifting *l, unsigned variable)
{
    return look_up(l->ssa, l->block, variable);
}

static void write_variable(struct lifting *l, unsigned variable, uint32_t value)
{
    *definition(l->ssa, l->block, variable) = value + 1;
}

static void seal_ready(struct ssa *s, uint32_t block)
{
    const struct block *b = &s->f->blocks[block];
    for (uint32_t k = 0; k < b->pred_count; k++)
        if (!s->filled[b->pred[k]])
            return;
    s->sealed[block] = true;
    for (struct pending *p = s->pending[block]; p != NULL; p = p->next)
        add_operands(s, p->phi);
    s->pending[block] = NULL;
}

/* --- trivial phis ----------------------------------------------------------------------------- */

static uint32_t real(const struct ssa *s, uint32_t v)
{
    while (s->alias[v] != 0)
        v = s->alias[v] - 1;
    return v;
}

/* Returns whether all arguments are the phi itself or one other value, which goes to *same. */
static bool is_trivial(const struct ssa *s, uint32_t phi, uint32_t *same)
{
    const struct value *p = &s->f->values[phi];
    bool found = false;
    for (uint32_t k = 0; k < p->arg_count; k++) {
        uint32_t a = real(s, p->args[k]);
        if (a == phi || (found && a == *same))
            continue;
        if (found)
            return false;
        *same = a;
        found = true;
    }
    return found;
}

static void drop_trivial(struct ssa *s)
{
    struct function *f = s->f;
    s->alias = arena_take(f->arena, f->value_count * sizeof *s->alias);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v = 0; v < f->value_count; v++) {
            uint32_t same = 0;
            if (f->values[v].kind != V_PHI || s->alias[v] != 0 || !is_trivial(s, v, &same))
                continue;
            s->alias[v] = same + 1;
            changed = true;
        }
    }
    for (uint32_t v = 0; v < f->value_count; v++) {
        struct value *x = &f->values[v];
        for (uint32_t k = 0; k < x->arg_count; k++)
            x->args[k] = real(s, x->args[k]);
        if (x->kind == V_LOAD && x->constant != 0)
            x->constant = 1 + real(s, (uint32_t)x->constant - 1);
        if (s->alias[v] != 0)
            x->arg_count = 0;
        else if (x->variable < SKEL_VARIABLES)
            x->name = ++f->names[x->variable];
    }
    for (uint32_t k = 0; k < f->access_count; k++) {
        f->accesses[k].address = real(s, f->accesses[k].address);
        f->accesses[k].count = real(s, f->accesses[k].count);
    }
    for (uint32_t k = 0; k < f->decision_count; k++)
        f->decisions[k].value = real(s, f->decisions[k].value);
    for (uint32_t k = 0; k < f->tail_count; k++)
        f->tails[k].stack = real(s, f->tails[k].stack);
    for (uint32_t k = 0; k < f->argument_count; k++)
        f->arguments[k].value = real(s, f->arguments[k].value);
}

/* Notes the registers that the call or jump at `at` passes to its target. */
static void note_arguments(struct ssa *s, uint32_t block, uint32_t at, uint64_t target, bool tail)
{
    struct function *f = s->f;
    uint16_t passed = direct_passed(f->directs, target);
    for (unsigned r = 0; r < SKEL_FLAGS; r++) {
        if ((passed >> r & 1) == 0)
            continue;
        struct argument a = {.block = block, .at = at, .tail = tail, .variable = (uint8_t)r};
        a.value = look_up(s, block, r);
        f->arguments = arena_grow(f->arena, f->arguments, f->argument_count, sizeof *f->arguments);
        f->arguments[f->argument_count++] = a;
    }
}

static void note_tail(struct ssa *s, uint32_t block)
{
    struct function *f = s->f;
    struct tail t = {.block = block};
    if (!direct_leaves(f, block, &t.target))
        return;
    t.stack = look_up(s, block, SKEL_RSP);
    f->tails = arena_grow(f->arena, f->tails, f->tail_count, sizeof *f->tails);
    f->tails[f->tail_count++] = t;
    note_arguments(s, block, f->blocks[block].first + f->blocks[block].count - 1, t.target, true);
}

void values_build(struct function *f)
{
    struct ssa s = {.f = f};
    slots_find(f);
    s.variables = SLOT_FIRST + f->slot_count;
    s.defined = arena_take(f->arena, (size_t)f->block_count * s.variables * sizeof *s.defined);
    s.filled = arena_take(f->arena, f->block_count);
    s.sealed = arena_take(f->arena, f->block_count);
    s.pending = arena_take(f->arena, f->block_count * sizeof *s.pending);
    struct lifting l = {.f = f, .read = read_variable, .write = write_variable, .ssa = &s};
    for (uint32_t k = 0; k < f->order_count && f->reason == NULL; k++) {
        uint32_t block = f->order[k];
        seal_ready(&s, block);
        l.block = f->now_block = block;
        for (uint32_t i = 0; i < f->blocks[block].count; i++) {
            f->now_at = f->blocks[block].first + i;
            if (direct_calls(f, &f->instructions[f->now_at]))
                note_arguments(&s, block, f->now_at, f->instructions[f->now_at].target, false);
            lift_instruction(&l);
        }
        note_tail(&s, block);
        s.filled[block] = true;
        for (uint32_t n = 0; n < f->blocks[block].succ_count; n++) {
            uint32_t to = f->blocks[block].succ[n];
            if (s.filled[to])
                seal_ready(&s, to);
        }
    }
    if (f->reason == NULL)
        drop_trivial(&s);
}
