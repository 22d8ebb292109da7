/* SPDX-License-Identifier: BSD-3-Clause
 * Emits the ends of an instrumented copy's blocks: branches, outcomes that they record, jumps
 * through tables. */
#include "isa/memory/copy/copier.h"

static void link_to(struct copier *c, uint32_t block)
{
    c->links = arena_grow(c->f->arena, c->links, c->link_count, sizeof *c->links);
    c->links[c->link_count++] = (struct link){c->e->bytes, block};
    emit_bytes(c->e, (const uint8_t[4]){0}, 4);
}

static void go(struct copier *c, uint32_t to, uint32_t next)
{
    if (to == next)
        return;
    emit_byte(c->e, 0xe9);
    link_to(c, to);
}

static struct stub *new_stub(struct copier *c, uint32_t to, uint32_t outcome, unsigned bytes)
{
    c->stubs = arena_grow(c->f->arena, c->stubs, c->stub_count, sizeof *c->stubs);
    struct stub *s = &c->stubs[c->stub_count++];
    *s = (struct stub){.to = to,
                       .outcome = outcome,
                       .outcome_bytes = (uint8_t)bytes,
                       .spilled = -1,
                       .spilled_2 = -1};
    return s;
}

static const struct decision *decision_of(const struct function *f, uint32_t block)
{
    for (uint32_t k = 0; k < f->decision_count; k++)
        if (f->decisions[k].block == block)
            return &f->decisions[k];
    return NULL;
}

/* Emits Jcc up to its 32-bit distance, which the caller adds. loop and jrcxz do not reach as far:
 * they lead to a jump. */
static void put_condition(struct copier *c, const struct instruction *i)
{
    bool plain = i->form.map == ZYDIS_OPCODE_MAP_DEFAULT;
    if (plain && i->form.opcode >= 0xe0 && i->form.opcode <= 0xe3) {
        if (i->form.address_width == 32)
            emit_byte(c->e, 0x67);
        emit_bytes(c->e, (const uint8_t[]){i->form.opcode, 2, 0xeb, 5, 0xe9}, 5);
        return;
    }
    emit_bytes(c->e, (const uint8_t[]){0x0f, (uint8_t)(0x80 | (i->form.opcode & 15))}, 2);
}

static void put_branch(struct copier *c, uint32_t block, uint32_t next)
{
    const struct block *b = &c->f->blocks[block];
    const struct instruction *i = &c->f->instructions[b->first + b->count - 1];
    const struct decision *d = decision_of(c->f, block);
    bool recorded = d != NULL && d->recorded;
    uint32_t on = b->succ[b->succ_count > 1];
    if (b->succ_count == 1) { /* both edges lead to one block */
        if (i->form.map == ZYDIS_OPCODE_MAP_DEFAULT && i->form.opcode >= 0xe0)
            copier_refuse(c, "a loop instruction that leads on");
        if (recorded)
            copier_add_number(c, 0, 1, c->live.in[on]);
        copier_flush(c, c->live.in[on]);
        go(c, on, next);
        return;
    }
    put_condition(c, i);
    if (recorded) {
        size_t at = c->e->bytes;
        emit_bytes(c->e, (const uint8_t[4]){0}, 4);
        new_stub(c, b->succ[0], 0, 1)->at = at;
        copier_add_number(c, 1, 1, c->live.in[on]);
        copier_flush(c, c->live.in[on]);
    } else {
        link_to(c, b->succ[0]);
    }
    go(c, on, next);
}

struct end_table {
    uint64_t low, count; /* entries, one for each byte from address `low` on */
    const struct instruction *jump;
    /* Two registers for the jump's own use, and whether known successors need their old values. The
     * stub for unknown targets always restores both. */
    unsigned t, s;
    bool spill_t, spill_s;
    bool flags;     /* flags are live at a successor */
    size_t entries; /* offset of the copy's own table: 4-byte distances from its start */
    size_t beyond;  /* offset of the distance to the last stub, for targets outside the table */
};

/* As emit_unless_below(), but changes no flags; s is rcx. Adds the highest byte of t to that of
 * count - 1 - t. The sum is 0 exactly if t is below count, which is far below 2^56. jrcxz then
 * skips the jump. */
static size_t put_unless_below(struct emit *e, const struct end_table *j)
{
    enum { JUMP = 5 };
    emit_slot_store(e, COPY_TARGET, j->t);
    emit_move(e, RCX, j->t);
    emit_not(e, RCX);
    emit_lea(e, RCX, RCX, EMIT_NONE, (int32_t)j->count);
    emit_swap(e, RCX);
    emit_low_byte(e, RCX, RCX);
    emit_swap(e, j->t);
    emit_low_byte(e, j->t, j->t);
    emit_lea(e, RCX, RCX, j->t, 0);
    emit_slot_load(e, COPY_TARGET, j->t);
    emit_bytes(e, (const uint8_t[]){0xe3, JUMP, 0xe9, 0, 0, 0, 0}, 7); /* jrcxz over a jump */
    return e->bytes - 4;
}

/* Computes in t the distance of the jump's target from the lowest one, and goes to that entry of
 * the table that follows the code. */
static void put_lookup(struct copier *c, struct end_table *j, const struct one *x)
{
    struct emit *e = c->e;
    const struct instruction *i = j->jump;
    emit_slot_store(e, COPY_SPILL, j->t);
    emit_slot_store(e, COPY_SPILL_2, j->s);
    if (i->form.mod != 3)
        emit_with_memory(e, i, 0x8b, j->t, lift_register(x->o[0].mem.index) > 7,
                         lift_register(x->o[0].mem.base) > 7);
    else
        emit_move(e, j->t, form_rm(&i->form));
    emit_address(e, j->s, j->low); /* without changing flags: t - s is t + ~s + 1 */
    emit_not(e, j->s);
    emit_lea(e, j->t, j->s, j->t, 1);
    j->beyond = j->flags ? put_unless_below(e, j) : emit_unless_below(e, j->t, (uint32_t)j->count);
    size_t distance = emit_place(e, j->s);
    emit_load_indexed(e, j->t, j->s, j->t);
    emit_lea(e, j->s, j->s, j->t, 0);
    emit_jump_register(e, j->s);
    emit_link(e, distance, e->bytes);
    j->entries = e->bytes;
    for (uint64_t k = 0; k < j->count; k++)
        emit_bytes(e, (const uint8_t[4]){0}, 4);
}

/* Adds a stub for each successor. The last stub is for targets that were not found: the original
 * jump, after which recording begins anew. */
static void put_table_stubs(struct copier *c, uint32_t block, const struct end_table *j,
                            unsigned bytes)
{
    const struct block *b = &c->f->blocks[block];
    size_t *stubs = arena_take(c->f->arena, (size_t)j->count * sizeof *stubs);
    for (uint32_t k = 0; k <= b->succ_count; k++) {
        bool known = k < b->succ_count;
        struct stub *stub = new_stub(c, known ? b->succ[k] : 0, k, bytes);
        stub->instead = known ? NULL : j->jump;
        stub->at = known ? 0 : j->beyond;
        stub->spilled = (int8_t)(j->spill_t || !known ? (int)j->t : -1);
        stub->spilled_2 = (int8_t)(j->spill_s || !known ? (int)j->s : -1);
        stub->first = j->entries;
        stub->entries = stubs;
        stub->first_entry = known ? (size_t)(c->f->blocks[b->succ[k]].start - j->low) : 0;
        stub->end_entry = known ? stub->first_entry + 1 : (size_t)j->count;
        for (size_t n = stub->first_entry; n < stub->end_entry; n++)
            if (stubs[n] == 0) /* the first of several successors, as in recording_format.h */
                stubs[n] = c->stub_count;
    }
}

/* Looks up the target of a jump through a table by its distance from the lowest target: in a table
 * of the copy, whose entries are the stubs. */
static void put_table(struct copier *c, uint32_t block)
{
    struct function *f = c->f;
    const struct block *b = &f->blocks[block];
    uint32_t at = b->first + b->count - 1;
    const struct decision *d = decision_of(f, block);
    struct end_table j = {.low = UINT64_MAX, .jump = &f->instructions[at]};
    uint64_t high = 0;
    uint16_t live = 0;
    struct one x;
    for (uint32_t k = 0; k < b->succ_count; k++) {
        uint64_t start = f->blocks[b->succ[k]].start;
        live |= c->live.in[b->succ[k]];
        j.flags = j.flags || c->live.flags_in[b->succ[k]];
        j.low = start < j.low ? start : j.low;
        high = start > high ? start : high;
    }
    bool known = copier_decode(c, j.jump, &x);
    bool segment =
        known && x.o[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
        (x.o[0].mem.segment == ZYDIS_REGISTER_FS || x.o[0].mem.segment == ZYDIS_REGISTER_GS);
    if (high - j.low > 1 << 16 || !known || segment) {
        copier_refuse(c, "a jump through a table that is too wide");
        return;
    }
    j.count = high - j.low + 1;
    uint16_t busy = c->live.uses[at];
    j.t = copier_take_register(c, live, (uint16_t)(busy | (j.flags ? 1u << RCX : 0)), &j.spill_t);
    j.s = j.flags ? RCX : copier_take_register(c, live, (uint16_t)(busy | 1u << j.t), &j.spill_s);
    j.spill_s = j.spill_s || j.flags;
    put_lookup(c, &j, &x);
    put_table_stubs(c, block, &j, d != NULL && d->recorded ? 2 : 0);
}

void copier_end(struct copier *c, uint32_t block, uint32_t next)
{
    const struct block *b = &c->f->blocks[block];
    switch ((enum block_end)b->end) {
    case END_FALL:
    case END_JUMP: go(c, b->succ[0], next); break;
    case END_BRANCH: put_branch(c, block, next); break;
    case END_TABLE: put_table(c, block); break;
    case END_TAIL:
        if (b->count == 0)
            copier_leave(c, b->leaves);
        break;
    case END_RETURN:
    case END_NORETURN: break;
    }
}

static void put_stub(struct copier *c, const struct stub *s)
{
    for (size_t k = s->first_entry; s->entries != NULL && k < s->end_entry; k++)
        if (s->entries[k] == (size_t)(s - c->stubs) + 1)
            emit_distance(c->e, s->first + 4 * k, s->first, c->e->bytes);
    if (s->at != 0)
        emit_link(c->e, s->at, c->e->bytes);
    uint64_t address = s->instead != NULL ? s->instead->at : c->f->blocks[s->to].start;
    emit_stands_for(c->e, address, 0);
    if (s->spilled >= 0)
        emit_slot_load(c->e, COPY_SPILL, (unsigned)s->spilled);
    if (s->spilled_2 >= 0)
        emit_slot_load(c->e, COPY_SPILL_2, (unsigned)s->spilled_2);
    emit_stands_for(c->e, address, COPY_PLACE_SAME);
    uint16_t live = s->instead != NULL ? UINT16_MAX : c->live.in[s->to];
    if (s->outcome_bytes != 0)
        copier_add_number(c, s->outcome, s->outcome_bytes, live);
    copier_flush(c, live);
    if (s->instead != NULL)
        copier_put_jump(c, s->instead, COPY_LOST);
    else
        go(c, s->to, UINT32_MAX);
}

void copier_finish(struct copier *c)
{
    for (uint32_t k = 0; k < c->stub_count; k++)
        put_stub(c, &c->stubs[k]);
    for (uint32_t k = 0; k < c->link_count; k++)
        emit_link(c->e, c->links[k].at, c->labels[c->links[k].to] - 1);
}
