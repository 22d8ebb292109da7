/* SPDX-License-Identifier: BSD-3-Clause
 * Finds induction variables: phis at loop heads, r = phi(start, r + step), whose step is the same
 * in each iteration. */
#include "isa/memory/skel.h"

/* Splits *e into phi + *step, in *bits low bits. Returns false if it does not have this
 * form. */
static bool step_of(struct function *f, uint32_t phi, const struct linear *e, unsigned *bits,
                    struct linear *step)
{
    const struct atom *only = e->count == 1 ? &f->atoms[e->terms[0].atom] : NULL;
    *step = *e;
    *bits = 64;
    if (only != NULL && only->kind == ATOM_ZEXT && e->terms[0].factor == 1 && e->constant == 0) {
        *step = f->linears[only->number];
        *bits = only->bits;
    }
    struct linear self = linear_value(f, phi);
    uint32_t before = step->count;
    return linear_add(step, &self, ~UINT64_C(0)) && step->count < before;
}

static void look(struct function *f, uint32_t phi, uint32_t loop)
{
    const struct value *x = &f->values[phi];
    const struct block *head = &f->blocks[x->block];
    struct induction found = {.known = true, .loop = loop, .bits = 64, .zeros = true};
    bool first = true;
    for (uint32_t k = 0; k < head->pred_count; k++) {
        struct linear step, e;
        unsigned bits;
        if (!loops_holds(f, loop, f->blocks[head->pred[k]].loop)) {
            found.start = f->values[phi].args[k];
            continue;
        }
        e = linear_get(f, f->values[phi].args[k]);
        if (!step_of(f, phi, &e, &bits, &step) || !linear_is_invariant(f, &step, loop))
            return;
        uint32_t number = linear_put(f, &step);
        if (!first && (number != found.step || bits != found.bits))
            return;
        found.step = number;
        found.bits = (uint8_t)bits;
        first = false;
    }
    if (first)
        return;
    found.zeros = found.bits < 64 && value_fits(f, found.start, found.bits);
    f->inductions[phi] = found;
}

void induct_find(struct function *f)
{
    for (uint32_t v = 0; v < f->value_count; v++) {
        const struct value *x = &f->values[v];
        int32_t loop = x->kind == V_PHI ? f->blocks[x->block].loop : SKEL_NONE;
        if (x->arg_count != 0 && loop != SKEL_NONE && f->loops[loop].head == x->block &&
            x->variable != SKEL_FLAGS)
            look(f, v, (uint32_t)loop);
    }
}
