/* SPDX-License-Identifier: BSD-3-Clause
 * Finds which bits of each value matter, backwards from addresses and conditions. An argument
 * without such bits becomes a zero: if a part of a register is written alone (`mov $7, %r9b`), what
 * was above it is arbitrary, and nobody needs to know it. */
#include "isa/memory/skel.h"

struct demander {
    struct function *f;
    uint32_t *todo;
    uint32_t todo_count;
    bool *waits; /* by value: it is in todo */
};

static uint64_t low_mask(unsigned bits)
{
    return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

/* Returns the bits that can carry into `bits`. */
static uint64_t up_to(uint64_t bits)
{
    return bits == 0 ? 0 : ~UINT64_C(0) >> __builtin_clzll(bits);
}

static bool is_number(const struct function *f, uint32_t v)
{
    return f->values[v].kind == V_CONSTANT && !f->values[v].image;
}

/* Argument 0 is shifted; argument 1 is the count. */
static uint64_t of_shift(const struct function *f, const struct value *x, unsigned k, uint64_t bits)
{
    uint64_t most = x->bits == 64 ? 63 : 31, mask = low_mask(x->bits);
    uint64_t n = f->values[x->args[1]].constant & most;
    bool fixed = is_number(f, x->args[1]);
    if (k == 1)
        return most;
    if (x->kind == V_SHL)
        return fixed ? bits >> n : up_to(bits);
    if (!fixed || x->kind == V_ROL)
        return mask;
    return (bits << n & mask) | (x->kind == V_SAR ? UINT64_C(1) << (x->bits - 1) : 0);
}

/* And, or: if the other argument is a number, only the bits that it leaves open matter. */
static uint64_t of_mask(const struct function *f, const struct value *x, unsigned k, uint64_t bits)
{
    uint32_t other = x->args[1 - k];
    if (!is_number(f, other))
        return bits;
    return bits & (x->kind == V_AND ? f->values[other].constant : ~f->values[other].constant);
}

/* Returns the bits of argument k on which `bits` of x depend. */
static uint64_t of_argument(const struct function *f, const struct value *x, unsigned k,
                            uint64_t bits)
{
    uint64_t mask = low_mask(x->bits), all = ~UINT64_C(0);
    if (bits == 0)
        return 0;
    switch ((enum value_kind)x->kind) {
    case V_PHI:
    case V_XOR:
    case V_NOT: return bits;
    case V_ADD:
    case V_SUB:
    case V_MUL: return up_to(bits);
    case V_AND:
    case V_OR: return of_mask(f, x, k, bits);
    case V_SHL:
    case V_SHR:
    case V_SAR:
    case V_ROL: return of_shift(f, x, k, bits);
    case V_ZEXT: return bits & mask;
    case V_SEXT: return (bits & mask) | ((bits & ~mask) != 0 ? UINT64_C(1) << (x->bits - 1) : 0);
    case V_INSERT: return k == 0 ? bits & ~(mask << x->constant) : bits >> x->constant & mask;
    case V_EXTRACT: return (bits & mask) << x->constant;
    case V_SELECT: return k == 0 ? all : bits;
    case V_FLAGS_SUB:
    case V_FLAGS_ADD:
    case V_FLAGS_LOGIC:
    case V_FLAGS_RESULT: return mask;
    case V_FLAGS_STEP: return k == 0 ? mask : all;
    default: return all;
    }
}

static void demand(struct demander *d, uint32_t v, uint64_t bits)
{
    struct value *x = &d->f->values[v];
    if ((bits & ~x->demanded) == 0)
        return;
    x->demanded |= bits;
    if (!d->waits[v])
        d->todo[d->todo_count++] = v;
    d->waits[v] = true;
}

static void find(struct demander *d)
{
    struct function *f = d->f;
    for (uint32_t k = 0; k < f->access_count; k++) {
        demand(d, f->accesses[k].address, ~UINT64_C(0));
        if (f->accesses[k].repeated)
            demand(d, f->accesses[k].count, ~UINT64_C(0));
    }
    for (uint32_t k = 0; k < f->decision_count; k++)
        demand(d, f->decisions[k].value, ~UINT64_C(0));
    for (uint32_t k = 0; k < f->tail_count; k++)
        demand(d, f->tails[k].stack, ~UINT64_C(0));
    for (uint32_t k = 0; k < f->argument_count; k++)
        demand(d, f->arguments[k].value, ~UINT64_C(0));
    while (d->todo_count > 0) {
        uint32_t v = d->todo[--d->todo_count];
        const struct value *x = &f->values[v];
        d->waits[v] = false;
        for (uint32_t k = 0; k < x->arg_count; k++)
            demand(d, x->args[k], of_argument(f, x, k, x->demanded));
    }
}

/* If only the inserted part matters, the value is that part, zero-extended. */
static void drop_rest(struct value *x)
{
    if (x->kind != V_INSERT || x->constant != 0 || (x->demanded & ~low_mask(x->bits)) != 0)
        return;
    x->kind = V_ZEXT;
    x->args[0] = x->args[1];
    x->arg_count = 1;
}

void demand_find(struct function *f)
{
    struct demander d = {.f = f};
    uint32_t count = f->value_count, zero = value_constant(f, 0, false);
    d.todo = arena_take(f->arena, f->value_count * sizeof *d.todo);
    d.waits = arena_take(f->arena, f->value_count);
    find(&d);
    for (uint32_t v = 0; v < count; v++) {
        struct value *x = &f->values[v];
        if (x->demanded == 0)
            continue;
        for (uint32_t k = 0; k < x->arg_count; k++)
            if (of_argument(f, x, k, x->demanded) == 0)
                x->args[k] = zero;
        drop_rest(x);
    }
}
