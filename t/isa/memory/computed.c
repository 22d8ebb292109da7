/* SPDX-License-Identifier: BSD-3-Clause
 * Computes the values of an analysed function, each from its arguments and by its expression. */
#include "t/isa/memory/skeleton.h"

/* --- By values --- */

static uint64_t low(uint64_t x, unsigned bits)
{
    return bits >= 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

struct flags {
    bool carry, zero, sign, overflow, parity;
};

static bool flags_of(const struct activation *a, uint32_t v, struct flags *out)
{
    const struct value *x = &a->f->values[v];
    uint64_t p = 0, q = 0, result;
    if (!value_of(a, x->args[0], &p) || (x->kind == V_FLAGS_SUB && !value_of(a, x->args[1], &q)) ||
        (x->kind == V_FLAGS_ADD && !value_of(a, x->args[1], &q)))
        return false;
    p = low(p, x->bits);
    q = low(q, x->bits);
    result = low(x->kind == V_FLAGS_SUB ? p - q : x->kind == V_FLAGS_ADD ? p + q : p, x->bits);
    uint64_t sign = UINT64_C(1) << (x->bits - 1);
    *out = (struct flags){.zero = result == 0,
                          .sign = (result & sign) != 0,
                          .parity = __builtin_parity((uint8_t)result) == 0};
    if (x->kind == V_FLAGS_SUB) {
        out->carry = p < q;
        out->overflow = ((p ^ q) & (p ^ result) & sign) != 0;
    } else if (x->kind == V_FLAGS_ADD) {
        out->carry = result < p;
        out->overflow = (~(p ^ q) & (p ^ result) & sign) != 0;
    } else if (x->kind == V_FLAGS_STEP) {
        struct flags before = {0};
        out->overflow = x->constant == 1 ? result == sign : result == sign - 1;
        if (a->f->values[x->args[1]].kind >= V_FLAGS_SUB && flags_of(a, x->args[1], &before))
            out->carry = before.carry;
    }
    return true;
}

static bool holds(const struct flags *g, unsigned condition)
{
    bool met[8] = {g->overflow,
                   g->carry,
                   g->zero,
                   g->carry || g->zero,
                   g->sign,
                   g->parity,
                   g->sign != g->overflow,
                   g->zero || g->sign != g->overflow};
    return met[condition >> 1] != ((condition & 1) != 0);
}

bool compute(const struct activation *a, uint32_t v, uint64_t *out)
{
    const struct value *x = &a->f->values[v];
    uint64_t args[3] = {0};
    struct flags g;
    if (x->kind == V_CONSTANT) {
        *out = x->constant + (x->image ? bias : 0);
        return true;
    }
    if (x->kind == V_TEST) {
        if (!value_is_computed(a->f, v) || !flags_of(a, x->args[0], &g))
            return false;
        *out = holds(&g, (unsigned)x->constant);
        return true;
    }
    for (uint32_t k = 0; k < x->arg_count; k++)
        if (x->kind < V_ADD || k > 2 || !value_of(a, x->args[k], &args[k]))
            return false;
    if (x->kind == V_TABLE) {
        bool is = constant_load(a->f, x, args[0] - bias, out);
        *out += is && a->f->tables[x->constant].image ? bias : 0;
        return is;
    }
    return value_compute(x->kind, x->bits, x->constant, args, out);
}

bool value_of(const struct activation *a, uint32_t v, uint64_t *out)
{
    const struct value *x = &a->f->values[v];
    if (x->kind == V_CONSTANT ||
        (x->kind >= V_ADD && x->block == a->block && x->at == a->at && !x->recorded))
        return compute(a, v, out);
    *out = a->values[v].value;
    return a->values[v].is;
}

/* --- By expressions --- */

bool linear_value_of(const struct activation *a, const struct linear *e, uint64_t *out)
{
    *out = e->constant;
    for (uint32_t k = 0; k < e->count; k++) {
        const struct atom *t = &a->f->atoms[e->terms[k].atom];
        uint64_t n = 0;
        switch ((enum atom_kind)t->kind) {
        case ATOM_VALUE:
            if (!value_of(a, t->number, &n))
                return false;
            break;
        case ATOM_COUNTER: n = a->counters[t->number]; break;
        case ATOM_IMAGE: n = bias; break;
        case ATOM_PRODUCT:
        case ATOM_ZEXT:
        case ATOM_SEXT:
            if (!linear_value_of(a, &a->f->linears[t->number], &n))
                return false;
            n = t->kind == ATOM_PRODUCT ? n * a->counters[t->other]
                : t->kind == ATOM_ZEXT  ? low(n, t->bits)
                                        : (low(n, t->bits) ^ UINT64_C(1) << (t->bits - 1)) -
                                             (UINT64_C(1) << (t->bits - 1));
            break;
        }
        *out += e->terms[k].factor * n;
    }
    return true;
}
