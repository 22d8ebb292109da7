/* SPDX-License-Identifier: BSD-3-Clause
 * Symbolic linear expressions, modulo 2^64. Sign and zero extensions are atoms. The operand of an
 * extension is computed in as many bits as the extension keeps, so that nested extensions become
 * one. */
#include "isa/memory/skel.h"

#include <string.h>

enum { HEADS = 1024 };

/* --- unique atoms and expressions ------------------------------------------------------------- */

static uint32_t mix(uint64_t h)
{
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 40) % HEADS;
}

static uint32_t put_atom(struct function *f, struct atom a)
{
    if (f->atom_heads == NULL)
        f->atom_heads = arena_take(f->arena, HEADS * sizeof *f->atom_heads);
    uint32_t *head = &f->atom_heads[mix(a.kind | (uint64_t)a.bits << 8 | (uint64_t)a.number << 16 |
                                        (uint64_t)a.other << 44)];
    for (uint32_t n = *head; n != 0; n = f->atoms[n - 1].next) {
        const struct atom *b = &f->atoms[n - 1];
        if (b->kind == a.kind && b->bits == a.bits && b->number == a.number && b->other == a.other)
            return n - 1;
    }
    f->atoms = arena_grow(f->arena, f->atoms, f->atom_count, sizeof *f->atoms);
    a.next = *head;
    f->atoms[f->atom_count] = a;
    *head = ++f->atom_count;
    return f->atom_count - 1;
}

static bool is_same(const struct linear *a, const struct linear *b)
{
    if (a->constant != b->constant || a->count != b->count)
        return false;
    for (uint32_t k = 0; k < a->count; k++)
        if (a->terms[k].factor != b->terms[k].factor || a->terms[k].atom != b->terms[k].atom)
            return false;
    return true;
}

uint32_t linear_put(struct function *f, const struct linear *e)
{
    uint64_t h = e->constant;
    for (uint32_t k = 0; k < e->count; k++)
        h = h * 31 + e->terms[k].factor * 7 + e->terms[k].atom;
    if (f->linear_heads == NULL)
        f->linear_heads = arena_take(f->arena, HEADS * sizeof *f->linear_heads);
    uint32_t *head = &f->linear_heads[mix(h)];
    for (uint32_t n = *head; n != 0; n = f->linears[n - 1].next)
        if (is_same(&f->linears[n - 1], e))
            return n - 1;
    struct linear copy = *e;
    f->linears = arena_grow(f->arena, f->linears, f->linear_count, sizeof *f->linears);
    copy.next = *head;
    f->linears[f->linear_count] = copy;
    *head = ++f->linear_count;
    return f->linear_count - 1;
}

/* --- sums ------------------------------------------------------------------------------------- */

static bool add_term(struct linear *to, struct term t)
{
    uint32_t k = 0;
    while (k < to->count && to->terms[k].atom < t.atom)
        k++;
    if (k < to->count && to->terms[k].atom == t.atom) {
        to->terms[k].factor += t.factor;
        if (to->terms[k].factor == 0)
            memmove(&to->terms[k], &to->terms[k + 1], (--to->count - k) * sizeof t);
        return true;
    }
    if (t.factor == 0)
        return true;
    if (to->count == LINEAR_TERMS)
        return false;
    memmove(&to->terms[k + 1], &to->terms[k], (to->count++ - k) * sizeof t);
    to->terms[k] = t;
    return true;
}

bool linear_add(struct linear *to, const struct linear *e, uint64_t factor)
{
    struct linear sum = *to;
    sum.constant += factor * e->constant;
    for (uint32_t k = 0; k < e->count; k++)
        if (!add_term(&sum, (struct term){factor * e->terms[k].factor, e->terms[k].atom}))
            return false;
    *to = sum;
    return true;
}

struct linear linear_atom(struct function *f, struct atom a)
{
    struct linear e = {.count = 1};
    e.terms[0] = (struct term){1, put_atom(f, a)};
    return e;
}

struct linear linear_value(struct function *f, uint32_t value)
{
    return linear_atom(f, (struct atom){.kind = ATOM_VALUE, .number = value});
}

/* --- extensions ------------------------------------------------------------------------------- */

static uint64_t low(uint64_t x, unsigned bits)
{
    return bits >= 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

static bool phi_of(struct function *f, uint32_t v, struct linear *out)
{
    const struct induction *i = &f->inductions[v];
    struct linear start = linear_get(f, i->start), step;
    if (!linear_settle(f, &f->linears[i->step], &step))
        return false;
    struct atom counter = {.kind = ATOM_COUNTER, .number = i->loop};
    uint64_t factor = 1;
    if (step.count == 0)
        factor = step.constant;
    else
        counter =
            (struct atom){.kind = ATOM_PRODUCT, .number = linear_put(f, &step), .other = i->loop};
    struct linear turns = linear_atom(f, counter);
    *out = start;
    return linear_add(out, &turns, factor);
}

/* Adds the part of a term to *to that affects the low `bits`. Returns false if there are too many
 * terms. */
static bool add_low(struct function *f, struct linear *to, struct term t, unsigned bits)
{
    const struct atom a = f->atoms[t.atom];
    if ((a.kind == ATOM_ZEXT || a.kind == ATOM_SEXT) && a.bits >= bits) {
        const struct linear inner = f->linears[a.number];
        for (uint32_t k = 0; k < inner.count; k++)
            if (!add_low(f, to,
                         (struct term){t.factor * inner.terms[k].factor, inner.terms[k].atom},
                         bits))
                return false;
        to->constant += t.factor * inner.constant;
        return true;
    }
    struct linear phi;
    if (a.kind == ATOM_VALUE && f->resolved && !f->values[a.number].recorded &&
        f->inductions[a.number].known && f->inductions[a.number].bits >= bits &&
        phi_of(f, a.number, &phi)) {
        for (uint32_t k = 0; k < phi.count; k++)
            if (!add_low(f, to, (struct term){t.factor * phi.terms[k].factor, phi.terms[k].atom},
                         bits))
                return false;
        to->constant += t.factor * phi.constant;
        return true;
    }
    t.factor = low(t.factor, bits);
    return add_term(to, t);
}

/* Replaces *e by the extension of its low bits: one atom, or a number. Returns false if there are
 * too many terms. */
static bool extend(struct function *f, struct linear *e, unsigned bits, bool is_signed)
{
    struct linear inner = {.constant = e->constant};
    for (uint32_t k = 0; k < e->count; k++)
        if (!add_low(f, &inner, e->terms[k], bits))
            return false;
    inner.constant = low(inner.constant, bits);
    struct linear copy_cache = {.constant = inner.constant};
    for (uint32_t k = 0; k < inner.count; k++)
        (void)add_term(&copy_cache,
                       (struct term){low(inner.terms[k].factor, bits), inner.terms[k].atom});
    uint64_t sign = UINT64_C(1) << (bits - 1);
    if (copy_cache.count == 0) {
        *e = (struct linear){.constant = is_signed ? (copy_cache.constant ^ sign) - sign
                                                   : copy_cache.constant};
        return true;
    }
    const struct atom *only = &f->atoms[copy_cache.terms[0].atom];
    bool alone =
        copy_cache.count == 1 && copy_cache.constant == 0 && copy_cache.terms[0].factor == 1;
    if (alone && only->kind == ATOM_VALUE &&
        value_fits(f, only->number, is_signed ? bits - 1 : bits)) {
        *e = copy_cache;
        return true;
    }
    /* Negative constants have a shorter text. */
    if ((copy_cache.constant & sign) != 0)
        copy_cache.constant = (copy_cache.constant ^ sign) - sign;
    for (uint32_t k = 0; k < copy_cache.count; k++)
        if ((copy_cache.terms[k].factor & sign) != 0)
            copy_cache.terms[k].factor = (copy_cache.terms[k].factor ^ sign) - sign;
    *e = linear_atom(f, (struct atom){.kind = is_signed ? ATOM_SEXT : ATOM_ZEXT,
                                      .bits = (uint8_t)bits,
                                      .number = linear_put(f, &copy_cache)});
    return true;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool of_phi(struct function *f, uint32_t v, struct linear *e)
{
    const struct induction *i = &f->inductions[v];
    if (!f->resolved || !i->known || !phi_of(f, v, e))
        return false;
    return i->bits == 64 || (i->zeros && extend(f, e, i->bits, false));
}

static bool of_operation(struct function *f, const struct value *x, struct linear *e)
{
    struct linear a = {0}, b = {0};
    if (x->arg_count > 0)
        a = linear_get(f, x->args[0]);
    if (x->arg_count > 1)
        b = linear_get(f, x->args[1]);
    *e = (struct linear){0};
    switch ((enum value_kind)x->kind) {
    case V_ADD: return linear_add(e, &a, 1) && linear_add(e, &b, 1);
    case V_SUB: return linear_add(e, &a, 1) && linear_add(e, &b, ~UINT64_C(0));
    case V_MUL:
        return a.count == 0 ? linear_add(e, &b, a.constant)
                            : b.count == 0 && linear_add(e, &a, b.constant);
    case V_SHL:
        return b.count == 0 &&
               linear_add(e, &a, UINT64_C(1) << (b.constant & (x->bits == 64 ? 63 : 31)));
    case V_NOT: e->constant = ~UINT64_C(0); return linear_add(e, &a, ~UINT64_C(0));
    case V_ZEXT:
    case V_SEXT: *e = a; return x->bits == 64 || extend(f, e, x->bits, x->kind == V_SEXT);
    default: return false;
    }
}

uint32_t linear_of(struct function *f, uint32_t value)
{
    const struct value x = f->values[value];
    struct linear e = {.constant = x.constant};
    if (x.linear != 0)
        return (uint32_t)x.linear - 1;
    bool known = x.kind == V_CONSTANT;
    if (known && x.image) {
        struct linear image = linear_atom(f, (struct atom){.kind = ATOM_IMAGE});
        (void)linear_add(&e, &image, 1);
    }
    if (x.recorded)
        known = false; /* the skeleton reads it */
    else if (x.kind == V_PHI)
        known = of_phi(f, value, &e);
    else if (x.kind >= V_ADD)
        known = of_operation(f, &x, &e);
    if (!known)
        e = linear_value(f, value);
    uint32_t n = linear_put(f, &e);
    f->values[value].linear = (int32_t)n + 1;
    return n;
}

struct linear linear_get(struct function *f, uint32_t value)
{
    uint32_t n = linear_of(f, value); /* may move the list */
    return f->linears[n];
}

bool linear_settle(struct function *f, const struct linear *e, struct linear *out)
{
    *out = (struct linear){.constant = e->constant};
    for (uint32_t k = 0; k < e->count; k++) {
        const struct atom a = f->atoms[e->terms[k].atom];
        struct linear part = {0};
        if (a.kind == ATOM_VALUE)
            part = linear_get(f, a.number);
        else if (a.kind != ATOM_ZEXT && a.kind != ATOM_SEXT)
            part = linear_atom(f, a);
        else if (!linear_settle(f, &f->linears[a.number], &part) ||
                 !extend(f, &part, a.bits, a.kind == ATOM_SEXT))
            return false;
        if (!linear_add(out, &part, e->terms[k].factor))
            return false;
    }
    return true;
}

bool linear_is_invariant(const struct function *f, const struct linear *e, uint32_t loop)
{
    for (uint32_t k = 0; k < e->count; k++) {
        const struct atom *a = &f->atoms[e->terms[k].atom];
        switch ((enum atom_kind)a->kind) {
        case ATOM_IMAGE: break;
        case ATOM_VALUE:
            if (loops_holds(f, loop, f->blocks[f->values[a->number].block].loop))
                return false;
            break;
        case ATOM_ZEXT:
        case ATOM_SEXT:
            if (!linear_is_invariant(f, &f->linears[a->number], loop))
                return false;
            break;
        case ATOM_COUNTER:
        case ATOM_PRODUCT: return false; /* do not exist before phis are resolved */
        }
    }
    return true;
}

void linear_resolve(struct function *f)
{
    f->inductions = arena_take(f->arena, f->value_count * sizeof *f->inductions);
    induct_find(f);
    f->resolved = true;
    for (uint32_t v = 0; v < f->value_count; v++)
        f->values[v].linear = 0;
}
