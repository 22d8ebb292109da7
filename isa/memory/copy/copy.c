/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a function's instrumented copy: its blocks in reverse postorder, each instruction
 * unchanged, and recording code between them. */
#include "isa/memory/copy/copier.h"
#include "isa/memory/direct_calls.h"
#include "isa/memory/ir/lanes.h"
#include "isa/memory/source/source.h"
#include "isa/memory/replay/recording_format.h"

#include <string.h>

void copier_refuse(struct copier *c, const char *reason)
{
    if (c->reason == NULL)
        c->reason = reason;
}

/* --- recording -------------------------------------------------------------------------------- */

unsigned copier_take_register(const struct copier *c, uint16_t live, uint16_t busy, bool *spill)
{
    uint16_t free = (uint16_t)(c->live.written & ~live & ~busy & ~(1u << RSP));
    *spill = free == 0;
    /* A register that calls preserve is the last choice: unwinders that start here, as a
     * cancellation does, find the callers' frames by it. One that the function does not touch is
     * the best: none of its instructions waits for the value that is loaded again. */
    if (free == 0)
        free = (uint16_t)(~c->live.touched & ~busy & CHANGED_BY_CALLS);
    if (free == 0)
        free = (uint16_t)(~busy & CHANGED_BY_CALLS);
    if (free == 0)
        free = (uint16_t)(~busy & ~(1u << RSP));
    return (unsigned)__builtin_ctz(free);
}

/* --clobber: clobbers every dead register. */
static void clobber(const struct copier *c, uint16_t live, uint16_t busy)
{
    const uint64_t number = UINT64_C(0xbad0000000000000) | c->e->bytes << 8;
    for (unsigned r = 0; r < SKEL_FLAGS && c->e->clobbers; r++)
        if ((c->live.written & ~live & ~busy & ~(1u << RSP)) >> r & 1)
            emit_move_number(c->e, r, number | r);
}

void copier_flush(struct copier *c, uint16_t live)
{
    uint16_t busy = 0;
    unsigned offset = 0;
    bool spill;
    for (unsigned k = 0; k < c->item_count; k++)
        busy |= c->items[k].is_number ? 0 : (uint16_t)(1u << c->items[k].reg);
    clobber(c, live, busy);
    if (c->item_count == 0)
        return;
    unsigned s = copier_take_register(c, live, busy, &spill);
    if (spill)
        emit_slot_store(c->e, COPY_SPILL, s);
    emit_slot_load(c->e, COPY_RECORDING, s);
    for (unsigned k = 0; k < c->item_count; k++) {
        const struct copy_item *i = &c->items[k];
        if (i->is_number)
            emit_store_number(c->e, s, offset, i->number, i->bytes);
        if (i->is_function)
            emit_fixup_at(c->e, COPY_NUMBER, 0, c->e->bytes - 4);
        if (!i->is_number)
            emit_store(c->e, s, offset, i->reg, i->bytes);
        offset += i->bytes;
    }
    emit_lea(c->e, s, s, EMIT_NONE, (int32_t)offset);
    emit_slot_store(c->e, COPY_RECORDING, s);
    if (spill)
        emit_slot_load(c->e, COPY_SPILL, s);
    c->item_count = 0;
}

void copier_add(struct copier *c, struct copy_item item, uint16_t live)
{
    if (c->item_count == GROUP)
        copier_flush(c, live);
    c->items[c->item_count++] = item;
}

void copier_add_number(struct copier *c, uint32_t n, unsigned bytes, uint16_t live)
{
    copier_add(c, (struct copy_item){.is_number = true, .bytes = (uint8_t)bytes, .number = n},
               live);
}

static void add_value(struct copier *c, uint32_t v, uint16_t live)
{
    const struct value *x = &c->f->values[v];
    if (x->variable >= SKEL_FLAGS)
        copier_refuse(c, "a value that is recorded is in no general register");
    else
        copier_add(
            c, (struct copy_item){.bytes = (uint8_t)skel_value_bytes(c->f, v), .reg = x->variable},
            live);
}

/* Records the registers themselves; the skeleton selects the elements. */
static void record_lanes(struct copier *c, const struct access *a, uint32_t block)
{
    uint16_t live = live_before(&c->live, block, a->at);
    bool spill;
    copier_flush(c, live);
    unsigned s = copier_take_register(c, live, 0, &spill);
    if (spill)
        emit_slot_store(c->e, COPY_SPILL, s);
    emit_slot_load(c->e, COPY_RECORDING, s);
    emit_lea(c->e, s, s, EMIT_NONE, (int32_t)lanes_emit(c->e, a->lanes, s));
    emit_slot_store(c->e, COPY_RECORDING, s);
    if (spill)
        emit_slot_load(c->e, COPY_SPILL, s);
}

/* --- blocks ----------------------------------------------------------------------------------- */

void copier_put_returns(struct copier *c)
{
    if (!c->f->late)
        return;
    emit_byte(c->e, 0xe8);
    emit_fixup(c->e, COPY_RETURNS, 0, 0);
}

/* A call of the next instruction puts that address on the stack: pushes the function's own
 * address. */
static void put_own_address(struct copier *c, uint64_t next)
{
    bool spill;
    unsigned t = copier_take_register(c, UINT16_MAX, 0, &spill);
    emit_slot_store(c->e, COPY_SPILL, t);
    emit_address(c->e, t, next);
    emit_push(c->e, t);
    emit_slot_load(c->e, COPY_SPILL, t);
}

/* Jumps to the address in `t`, which has been spilled. Calls the hook below the red zone, which
 * leaf functions use below the stack pointer. */
static void put_hooked(struct copier *c, enum copy_fixup_kind hook, unsigned t)
{
    enum { RED_ZONE = 128 };
    emit_slot_store(c->e, COPY_TARGET, t);
    emit_slot_load(c->e, COPY_SPILL, t);
    emit_lea(c->e, RSP, RSP, EMIT_NONE, -RED_ZONE);
    emit_byte(c->e, 0xe8);
    emit_fixup(c->e, hook, 0, 0);
    emit_lea(c->e, RSP, RSP, EMIT_NONE, RED_ZONE);
    emit_jump_slot(c->e, COPY_TARGET);
}

/* If control goes to `place` in mid-function, of this or another function, what runs there is not
 * recorded, and the recording says so. All registers are live there. */
static void put_missing(struct copier *c, uint64_t place)
{
    enum { BYTES = 1 + 8 };
    const struct code_range *r = code_range_of(c->f->code, place);
    if (r == NULL || r->start == place || graph_symbol_at(c->f->code->image, place) != NULL)
        return;
    bool spill;
    unsigned s = copier_take_register(c, UINT16_MAX, 0, &spill);
    unsigned t = copier_take_register(c, UINT16_MAX, (uint16_t)(1u << s), &spill);
    emit_slot_store(c->e, COPY_SPILL, s);
    emit_slot_store(c->e, COPY_SPILL_2, t);
    emit_slot_load(c->e, COPY_RECORDING, s);
    emit_address(c->e, t, place);
    emit_store_number(c->e, s, 0, TOKEN_MISSING, 1);
    emit_store(c->e, s, 1, t, 8);
    emit_lea(c->e, s, s, EMIT_NONE, BYTES);
    emit_slot_store(c->e, COPY_RECORDING, s);
    emit_slot_load(c->e, COPY_SPILL, s);
    emit_slot_load(c->e, COPY_SPILL_2, t);
}

static void put_tail(struct copier *c, uint64_t target)
{
    put_missing(c, target);
    copier_put_returns(c);
    emit_byte(c->e, 0xe9);
    if (direct_is(c->f->directs, target))
        emit_call(c->e, target);
    else
        emit_fixup(c->e, COPY_FUNCTION, target, 0);
}

void copier_leave(struct copier *c, uint64_t target)
{
    const struct code_range *r = code_range_of(c->f->code, target);
    if (c->f->sites != NULL && code_has(c->f->sites, target)) {
        emit_byte(c->e, 0xe9); /* after the alarm, another copy goes on */
        emit_fixup(c->e, COPY_FUNCTION, target, 0);
        return;
    }
    if (c->f->late && (r == NULL || r->start != target)) {
        bool spill;
        put_missing(c, target);
        unsigned t = copier_take_register(c, UINT16_MAX, 0, &spill);
        emit_slot_store(c->e, COPY_SPILL, t);
        emit_address(c->e, t, target);
        put_hooked(c, COPY_LEAVES, t);
        return;
    }
    put_tail(c, target);
}

void copier_put_jump(struct copier *c, const struct instruction *i, enum copy_fixup_kind hook)
{
    bool spill;
    struct one x;
    if (!copier_decode(c, i, &x) ||
        (x.o[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
         (x.o[0].mem.segment == ZYDIS_REGISTER_FS || x.o[0].mem.segment == ZYDIS_REGISTER_GS))) {
        copier_refuse(c, "a jump through a thread's variable");
        return;
    }
    uint16_t busy = (uint16_t)(c->live.uses[i - c->f->instructions] | 1u << RSP);
    unsigned t = copier_take_register(c, UINT16_MAX, busy, &spill);
    emit_slot_store(c->e, COPY_SPILL, t);
    if (i->form.mod != 3)
        emit_with_memory(c->e, i, 0x8b, t, lift_register(x.o[0].mem.index) > 7,
                         lift_register(x.o[0].mem.base) > 7);
    else
        emit_move(c->e, t, form_rm(&i->form));
    put_hooked(c, hook, t);
}

/* Returns whether `target` is in the function's own code, but not at its start. */
static bool is_within(const struct function *f, uint64_t target)
{
    const struct code_range *r = code_range_of(f->code, target);
    return r != NULL && r == code_range_of(f->code, f->start) && target != r->start;
}

static void put_instruction(struct copier *c, const struct instruction *i, bool last, unsigned end,
                            bool wild)
{
    switch ((enum flow)i->form.flow) {
    case FLOW_CALL:
        if (i->target == i->next) {
            put_own_address(c, i->next);
            return;
        }
        if (is_within(c->f, i->target))
            put_missing(c, i->target);
        emit_byte(c->e, 0xe8);
        if (direct_calls(c->f, i))
            emit_call(c->e, i->target);
        else
            emit_fixup(c->e, COPY_FUNCTION, i->target, 0);
        break;
    case FLOW_JUMP:
        if (last && end == END_TAIL)
            put_tail(c, i->target);
        break; /* other jumps: copier_end() */
    case FLOW_BRANCH: break;
    case FLOW_JUMP_POINTER:
        if (end == END_TABLE)
            break;
        if (wild) {
            copier_put_jump(c, i, COPY_JUMPS); /* looks the target up at each jump */
            break;
        }
        copier_put_returns(c);
        emit_copy(c->e, i);
        break;
    case FLOW_NEXT:
    case FLOW_CALL_POINTER:
    case FLOW_RETURN:
    case FLOW_END:
        if (i->form.flow == FLOW_RETURN)
            copier_put_returns(c);
        if (i->form.imm_relative || (i->form.relative && i->form.address_width != 64))
            copier_refuse(c, "an instruction that cannot run elsewhere");
        emit_copy(c->e, i);
        break;
    }
}

/* Follows a call that is not expected to return: if it does return, control goes on in the
 * function. The copy has no other place for this address. */
static void put_unexpected(struct copier *c, uint64_t next)
{
    put_missing(c, next);
    emit_byte(c->e, 0xe9);
    emit_fixup(c->e, COPY_FUNCTION, next, 0);
}

/* Adds recorded entry values: those of one register, or, for SKEL_FLAGS, those that no caller
 * knows. */
static void add_entry_values(struct copier *c, uint32_t block, unsigned variable)
{
    MEMBERS_EACH (&c->values, block, n) {
        const struct value *x = &c->f->values[*n];
        bool is = variable == SKEL_FLAGS ? !value_is_passed(c->f, *n) : x->variable == variable;
        if (x->kind == V_ENTRY && x->recorded && is)
            add_value(c, *n, c->live.in[block]);
    }
}

/* Adds the recorded arguments of the call at `at`, or of the jump that ends the block. */
static void add_arguments(struct copier *c, uint32_t block, uint32_t at, bool jump, uint16_t live)
{
    for (uint32_t k = 0; k < c->f->argument_count; k++) {
        const struct argument *a = &c->f->arguments[k];
        if (a->block == block && a->recorded && (jump ? a->tail : a->at == at && !a->tail))
            copier_add(c,
                       (struct copy_item){.bytes = (uint8_t)skel_value_bytes(c->f, a->value),
                                          .reg = a->variable},
                       live);
    }
}

/* Direct calls enter after the token and after the values that the caller's skeleton knows. */
static void put_begin(struct copier *c, uint32_t block, uint32_t number)
{
    uint16_t live = c->live.in[block];
    copier_add_number(c, TOKEN_ENTER, 1, live);
    copier_add(
        c, (struct copy_item){.is_number = true, .is_function = true, .bytes = 4, .number = number},
        live);
    add_entry_values(c, block, SKEL_RSP);
    for (unsigned r = 0; r < SKEL_FLAGS; r++)
        if ((c->f->passed >> r & 1) != 0)
            add_entry_values(c, block, r);
    if (direct_has(c->f)) {
        copier_flush(c, live);
        c->direct = c->e->bytes;
        emit_stands_for(c->e, c->f->blocks[block].start, COPY_PLACE_SAME);
    }
    add_entry_values(c, block, SKEL_FLAGS);
    copier_flush(c, live);
}

static void put_entry(struct copier *c, uint32_t block, uint32_t number)
{
    uint16_t live = c->live.in[block];
    if (number != UINT32_MAX)
        put_begin(c, block, number);
    MEMBERS_EACH (&c->values, block, n) {
        const struct value *x = &c->f->values[*n];
        if (x->kind == V_PHI && x->recorded && x->arg_count != 0)
            add_value(c, *n, live);
    }
    copier_flush(c, live);
}

/* A thread here may go on in the function instead, except where an alarm would fire again. */
static void stands_for(struct copier *c, uint64_t at)
{
    bool fires = c->f->watched && at == c->f->start;
    emit_stands_for(c->e, at, fires ? 0 : COPY_PLACE_SAME);
}

static void put_block(struct copier *c, uint32_t block, uint32_t number, uint32_t next)
{
    struct function *f = c->f;
    const struct block *b = &f->blocks[block];
    c->labels[block] = 1 + c->e->bytes;
    if (b->leaves != 0)
        emit_stands_for(c->e, b->start, COPY_PLACE_SAME);
    else
        stands_for(c, b->start);
    put_entry(c, block, number);
    for (uint32_t at = b->first; at < b->first + b->count && c->reason == NULL; at++) {
        const struct instruction *i = &f->instructions[at];
        bool last = at + 1 == b->first + b->count;
        size_t before = c->e->bytes;
        stands_for(c, i->at);
        MEMBERS_EACH (&c->accesses, block, n) {
            const struct access *a = &f->accesses[*n];
            if (a->at == at && a->recorded)
                copier_record_address(c, a, block);
            if (a->at == at && a->lanes != NULL)
                record_lanes(c, a, block);
        }
        add_arguments(c, block, at, false, live_before(&c->live, block, at));
        if (last)
            add_arguments(c, block, at, true, live_before(&c->live, block, at));
        copier_flush(c, live_before(&c->live, block, at));
        if (c->e->bytes != before)
            stands_for(c, i->at);
        put_instruction(c, i, last, b->end, b->wild);
        /* copier_end() makes branches and jumps through tables. */
        bool waits = last && (b->end == END_BRANCH || b->end == END_TABLE);
        uint16_t live = waits ? live_before(&c->live, block, at) : live_after(&c->live, block, at);
        if (graph_is_call(i))
            emit_stands_for(c->e, i->next, COPY_PLACE_RETURNED | COPY_PLACE_SAME);
        bool over = last && b->end == END_NORETURN;
        if (graph_is_call(i) && over)
            put_unexpected(c, i->next);
        else if (graph_is_call(i) && !direct_calls(f, i))
            copier_add_number(c, TOKEN_RESUME, 1, live);
        copier_record_left(c, block, at, live);
        MEMBERS_EACH (&c->values, block, n) {
            const struct value *x = &f->values[*n];
            if (x->recorded && x->at == at && x->kind != V_PHI && x->kind != V_ENTRY)
                add_value(c, *n, live);
        }
        copier_flush(c, live);
    }
    if (b->count == 0) {
        add_arguments(c, block, 0, true, UINT16_MAX);
        copier_flush(c, UINT16_MAX);
    }
    copier_end(c, block, next);
}

const char *copy_function(struct function *f, struct emit *e, uint32_t number,
                          struct copy_function *out)
{
    size_t bytes = e->bytes, fixups = e->fixup_count, places = e->place_count;
    size_t calls = e->call_count;
    struct copier c = {.f = f,
                       .e = e,
                       .live = live_find(f),
                       .values = members_values(f),
                       .accesses = members_accesses(f),
                       .labels = arena_take(f->arena, (f->block_count + 1) * sizeof(size_t))};
    if (f->call != 0) { /* unwinders look before the address that a call returns to */
        emit_stands_for(e, f->call, 0);
        emit_byte(e, 0x90);
        emit_stands_for(e, f->start, COPY_PLACE_RETURNED | COPY_PLACE_SAME);
    }
    for (uint32_t k = 0; k < f->order_count && c.reason == NULL; k++)
        put_block(&c, f->order[k], k == 0 ? number : UINT32_MAX,
                  k + 1 < f->order_count ? f->order[k + 1] : UINT32_MAX);
    if (c.reason == NULL)
        copier_finish(&c);
    while (e->bytes % 16 != 0)
        emit_byte(e, 0xcc);
    *out = (struct copy_function){.address = f->start,
                                  .code = bytes,
                                  .direct = c.direct != 0 ? (uint32_t)(c.direct - bytes) : 0,
                                  .bytes = (uint32_t)(e->bytes - bytes),
                                  .number = number};
    if (c.reason != NULL) {
        e->bytes = bytes;
        e->fixup_count = fixups;
        e->place_count = places;
        e->call_count = calls;
    }
    return c.reason;
}
