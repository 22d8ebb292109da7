/* SPDX-License-Identifier: BSD-3-Clause
 * Decides which functions of an image are called directly. */
#include "isa/memory/direct_calls.h"

#include <stdlib.h>

/* Makes room for one more element of `size` bytes in *list. Returns false if no memory is left. */
static bool grow(void **list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    void *more = realloc(*list, (2 * *room + 64) * size);
    if (more == NULL)
        return false;
    *room = 2 * *room + 64;
    *list = more;
    return true;
}

bool direct_add(struct directs *d, uint64_t start, bool is)
{
    if (!grow((void **)&d->list, d->count, &d->room, sizeof *d->list))
        return false;
    d->list[d->count++] = (struct direct){.start = start, .is = is};
    return true;
}

void direct_free(struct directs *d)
{
    free(d->list);
    free(d->calls);
    *d = (struct directs){.list = NULL};
}

static struct direct *find(const struct directs *d, uint64_t start)
{
    size_t count = d != NULL ? d->count : 0;
    size_t n = count != 0 ? image_search(d->list, count, sizeof *d->list,
                                         offsetof(struct direct, start), start)
                          : 0;
    return n < count && d->list[n].start == start ? &d->list[n] : NULL;
}

bool direct_knows(const struct directs *d, uint64_t start)
{
    return find(d, start) != NULL;
}

bool direct_is(const struct directs *d, uint64_t start)
{
    const struct direct *x = find(d, start);
    return x != NULL && x->is;
}

uint16_t direct_passed(const struct directs *d, uint64_t start)
{
    const struct direct *x = find(d, start);
    return x != NULL && x->is ? x->passed : 0;
}

void direct_pass(struct directs *d, struct function *f)
{
    struct direct *x = find(d, f->start);
    for (uint32_t v = 0; v < f->value_count; v++) {
        const struct value *e = &f->values[v];
        if (e->kind == V_ENTRY && e->recorded && e->variable < SKEL_FLAGS &&
            e->variable != SKEL_RSP)
            x->passed |= (uint16_t)(1u << e->variable);
    }
    f->passed = direct_passed(d, f->start);
}

bool direct_has(const struct function *f)
{
    return !f->late && direct_is(f->directs, f->start);
}

bool direct_calls(const struct function *f, const struct instruction *i)
{
    enum { CALL = 0xe8, CALL_BYTES = 5 };
    return i->form.flow == FLOW_CALL && i->target != i->next && i->form.length == CALL_BYTES &&
           i->bytes[0] == CALL && direct_is(f->directs, i->target);
}

bool direct_leaves(const struct function *f, uint32_t block, uint64_t *target)
{
    const struct block *b = &f->blocks[block];
    const struct instruction *last =
        b->count != 0 ? &f->instructions[b->first + b->count - 1] : NULL;
    if (b->end != END_TAIL || (last != NULL && last->form.flow != FLOW_JUMP))
        return false;
    *target = last != NULL ? last->target : b->leaves;
    return direct_is(f->directs, *target);
}

size_t direct_number(const struct directs *d, uint64_t start)
{
    return (size_t)(find(d, start) - d->list);
}

/* --- calls and returns of a function ---------------------------------------------------------- */

static bool note_call(struct directs *d, struct direct *x, uint64_t target, bool jump,
                      uint16_t passed)
{
    if (!grow((void **)&d->calls, d->call_count, &d->call_room, sizeof *d->calls))
        return false;
    d->calls[d->call_count++] = (struct direct_call){target, jump, passed};
    x->count++;
    return true;
}

/* Returns whether `value` is the stack pointer at entry plus a constant, which goes to
 * *distance. */
static bool is_of_stack(struct function *f, uint32_t value, int64_t *distance)
{
    struct linear e = linear_get(f, value);
    const struct atom *a = e.count == 1 ? &f->atoms[e.terms[0].atom] : NULL;
    const struct value *x = a != NULL && a->kind == ATOM_VALUE ? &f->values[a->number] : NULL;
    *distance = (int64_t)e.constant;
    return x != NULL && x->kind == V_ENTRY && x->variable == SKEL_RSP && e.terms[0].factor == 1;
}

/* Returns whether no access is known to overwrite the return address, and each return uses it. */
static bool keeps_its_return(struct function *f)
{
    for (uint32_t k = 0; k < f->access_count; k++) {
        const struct access *a = &f->accesses[k];
        const struct block *b = &f->blocks[a->block];
        int64_t distance;
        if (!is_of_stack(f, a->address, &distance))
            continue;
        bool returns = b->end == END_RETURN && a->at == b->first + b->count - 1;
        if (returns ? distance != 0
                    : a->kind != ACCESS_READ && distance < 8 && distance + a->bytes > 0)
            return false;
    }
    return true;
}

static bool note_of(struct directs *d, struct direct *x, const struct function *f, uint64_t target,
                    bool jump)
{
    bool itself = target == f->start && !f->late;
    return note_call(d, x, target, jump, itself ? f->passed_itself : direct_passed(d, target));
}

bool direct_note(struct directs *d, struct direct *x, struct function *f, bool made)
{
    uint64_t target;
    x->first = d->call_count;
    x->count = 0;
    x->returns = made && f->reason == NULL && keeps_its_return(f);
    for (uint32_t k = 0; k < f->order_count && f->reason == NULL; k++) {
        const struct block *b = &f->blocks[f->order[k]];
        for (uint32_t i = b->first; i < b->first + b->count; i++)
            if (direct_calls(f, &f->instructions[i]) &&
                !note_of(d, x, f, f->instructions[i].target, false))
                return false;
        if (!direct_leaves(f, f->order[k], &target))
            x->returns = x->returns && b->end != END_TAIL;
        else if (!note_of(d, x, f, target, true))
            return false;
    }
    return true;
}

bool direct_guess(struct directs *d, struct direct *x, const struct code *c, uint64_t end)
{
    const struct jump_target *t;
    struct instruction i;
    x->first = d->call_count;
    x->returns = true;
    for (uint64_t at = x->start; at < end && x->returns; at++) {
        const uint8_t *flags = code_at(c, at);
        if (flags == NULL || (*flags & CODE_START) == 0 || !code_decode(c, at, &i))
            continue;
        bool jumps = i.form.flow == FLOW_JUMP || i.form.flow == FLOW_BRANCH;
        if (i.form.flow == FLOW_JUMP_POINTER)
            x->returns = code_targets_of(c, at, &t) != 0;
        else if (jumps && (i.target < x->start || i.target >= end) && find(d, i.target) == NULL)
            x->returns = graph_stays(c, i.target);
        else if (jumps && (i.target < x->start || i.target >= end) &&
                 !note_call(d, x, i.target, true, 0))
            return false;
    }
    return true;
}

static bool is_left(const struct directs *d, const struct direct *x)
{
    for (size_t k = x->first; k < x->first + x->count; k++)
        if (d->calls[k].jump && !direct_is(d, d->calls[k].target))
            return false;
    return x->returns;
}

void direct_settle(struct directs *d)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = 0; n < d->count; n++) {
            struct direct *x = &d->list[n];
            if (!x->is || is_left(d, x))
                continue;
            x->is = false;
            changed = true;
        }
    }
    for (size_t n = 0; n < d->count; n++)
        d->list[n].called = false;
    for (size_t n = 0; n < d->count; n++)
        for (size_t k = d->list[n].first; k < d->list[n].first + d->list[n].count; k++) {
            struct direct *x = find(d, d->calls[k].target);
            x->called = x->called || x->is;
        }
}

bool direct_holds(const struct directs *d, size_t n)
{
    const struct direct *x = &d->list[n];
    for (size_t k = x->first; k < x->first + x->count; k++)
        if (!direct_is(d, d->calls[k].target) ||
            direct_passed(d, d->calls[k].target) != d->calls[k].passed)
            return false;
    return true;
}
