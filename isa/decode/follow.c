/* SPDX-License-Identifier: BSD-3-Clause
 * Recursive descent: decodes all that control flow reaches from a place that is, or may be,
 * code. */
#include "isa/decode/code_map.h"

#include "base/toolkit/array.h"

#include <stdlib.h>
#include <string.h>

struct follow_walk {
    struct code *c;
    struct address_stack *todo, *done;
    const struct code_range *range; /* range of the last run */
    bool trial, contradiction;
};

/* The trials of a function stop when they have decoded in vain more instructions than FEW_IN_VAIN
 * plus MOST_IN_VAIN times the function's bytes. */
enum { MOST_IN_VAIN = 4, FEW_IN_VAIN = 65536 };

/* A straight run of instructions. */
struct follow_run {
    uint64_t begin;
    /* The place after the run's last call, which may not have returned; 0: no call yet. */
    uint64_t behind_call;
    size_t todo; /* length of the todo list at that call */
};

static void push(struct code *c, struct address_stack *s, uint64_t address)
{
    uint64_t *more = array_grown(s->at, s->count, &s->room, sizeof *more);
    if (more == NULL) {
        c->no_memory = true;
        return;
    }
    s->at = more;
    s->at[s->count++] = address;
}

static void aim(struct follow_walk *w, uint64_t target)
{
    uint8_t *f = code_at(w->c, target);
    if (f == NULL)
        return;
    *f |= CODE_TARGET;
    if ((*f & CODE_START) == 0 && code_is_wanted(w->c, target))
        push(w->c, w->todo, target);
}

void code_add_crossing(struct code *c, uint64_t from, uint64_t to)
{
    if (image_grow((void **)&c->crossings, c->crossing_count, sizeof *c->crossings) != 0)
        c->no_memory = true;
    else
        c->crossings[c->crossing_count++] = (struct jump_target){from, to};
}

static void branch(struct follow_walk *w, const struct instruction *i,
                   const struct code_range *range)
{
    aim(w, i->target);
    if (range != NULL && (i->target < range->start || i->target >= range->end))
        code_add_crossing(w->c, i->at, i->target);
}

/* Returns a mask of the first `bytes` of 8 bytes, of all 8 at most. */
static uint64_t first_of(unsigned bytes)
{
    return ~UINT64_C(0) >> (64 - 8 * (bytes < 8 ? bytes : 8));
}

/* Returns whether the bytes of an instruction, with flags from f on, belong to no other instruction
 * and to no table. */
static bool is_free(const uint8_t *f, unsigned length)
{
    uint64_t eight,
        taken = (CODE_EACH(CODE_DATA | CODE_START) & ~first_of(1)) | CODE_DATA | CODE_BODY;
    memcpy(&eight, f, sizeof eight);
    if ((eight & taken & first_of(length)) != 0)
        return false;
    for (unsigned n = 8; n < length; n++)
        if ((f[n] & (CODE_DATA | CODE_START)) != 0)
            return false;
    return true;
}

/* Returns whether user programs hardly ever execute such an instruction: on a trial it means that
 * the bytes are data. Zeros are add %al,(%rax). A single one is not odd, and others with that
 * opcode (with a REX prefix: other registers) are how compilers translate `*p += x`. */
static bool is_odd(const struct form *f, const uint8_t *bytes, uint64_t size)
{
    if (f->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || f->map != ZYDIS_OPCODE_MAP_DEFAULT)
        return false;
    switch (f->opcode) {
    case 0x00: return size >= 4 && memcmp(bytes, "\0\0\0", 4) == 0;
    case 0x6c:
    case 0x6d:
    case 0x6e:
    case 0x6f: /* input and output */
    case 0xe4:
    case 0xe5:
    case 0xe6:
    case 0xe7:
    case 0xec:
    case 0xed:
    case 0xee:
    case 0xef:
    case 0xca:
    case 0xcb:
    case 0xcf:
    case 0xf4:
    case 0xfa:
    case 0xfb: /* far returns, hlt, cli, sti */
    case 0x8e: /* segment registers */ return true;
    case 0xff: return f->reg == 3 || f->reg == 5;
    default: return false;
    }
}

/* Two instructions share bytes, and control flow reaches both: neither is sure. The instructions
 * after them are the same again, or are disputed in the same way. */
static void dispute(const struct code *c, uint64_t at, uint64_t next)
{
    for (uint64_t b = at; b < next; b++) {
        uint8_t *f = code_at(c, b);
        uint64_t start = f != NULL && (*f & CODE_BODY) != 0 ? code_before(c, b, 0) : b;
        if (f != NULL)
            *f |= CODE_UNSURE;
        if (start != b && (f = code_at(c, start)) != NULL)
            *f |= CODE_UNSURE;
    }
}

static void take(struct follow_walk *w, uint64_t at, unsigned length, uint8_t *f)
{
    uint64_t eight, all = first_of(length);
    memcpy(&eight, f, sizeof eight);
    eight |= CODE_START | (CODE_EACH(CODE_BODY) & all & ~first_of(1));
    eight &= ~(CODE_EACH(CODE_UNSURE | CODE_PADDING) & all);
    memcpy(f, &eight, sizeof eight);
    for (unsigned n = 8; n < length; n++)
        f[n] = (uint8_t)((f[n] | CODE_BODY) & ~(CODE_UNSURE | CODE_PADDING));
    if (w->trial)
        push(w->c, w->done, at);
}

static void drop(const struct code *c, uint64_t at)
{
    uint8_t *f = code_at(c, at);
    *f = (uint8_t)((*f & ~CODE_START) | CODE_UNSURE);
    for (f++; (f = code_at(c, ++at)) != NULL && (*f & (CODE_BODY | CODE_START)) == CODE_BODY;)
        *f = (uint8_t)((*f & ~CODE_BODY) | CODE_UNSURE);
}

unsigned code_named(const struct code *c, const struct instruction *i, struct named named[2])
{
    unsigned n = 0;
    if (i->form.relative)
        named[n++] = (struct named){i->memory, i->form.lea};
    if (c->image->dynamic_type || i->form.flow != FLOW_NEXT)
        return n;
    /* At a fixed address, 32-bit displacements and immediates may be addresses. */
    if (!i->form.relative && i->form.disp_size == 32)
        named[n++] = (struct named){instruction_displacement(i), i->form.lea};
    if (i->form.imm_size == 32)
        named[n++] = (struct named){instruction_immediate(i) & UINT32_MAX, true};
    else if (i->form.imm_size == 64)
        named[n++] = (struct named){instruction_immediate(i), true};
    return n;
}

/* Notes the addresses that an instruction names: of data, which may bound tables, and of code, to
 * which something may jump whether or not it is known to be code by now. */
static void note_references(struct follow_walk *w, const struct instruction *i)
{
    struct code *c = w->c;
    struct named named[2];
    unsigned n = code_named(c, i, named);
    if (i->form.relative && i->form.lea) {
        if (image_grow((void **)&c->lea_list, c->lea_count, sizeof *c->lea_list) != 0)
            c->no_memory = true;
        else
            c->lea_list[c->lea_count++] = (struct lea){i->at, i->memory};
    }
    for (unsigned k = 0; k < n; k++) {
        uint64_t value = named[k].value;
        if (value == 0 || image_segment_of(c->image, value) == NULL)
            continue;
        bool in_code = named[k].computed && code_at(c, value) != NULL;
        code_add(c, in_code ? &c->code_refs : &c->data_refs, value);
    }
}

static bool comes_back(const struct code *c, const struct instruction *i)
{
    const uint8_t *f = i->form.flow == FLOW_CALL ? code_at(c, i->target) : NULL;
    if (i->form.flow == FLOW_CALL_POINTER && i->form.relative) {
        /* The call of -fno-plt code. */
        const char *name = image_slot_name(c->image, i->memory);
        return name == NULL ||
               (strcmp(name, "abort") != 0 && strcmp(name, "exit") != 0 &&
                strcmp(name, "__stack_chk_fail") != 0 && strcmp(name, "_Unwind_Resume") != 0);
    }
    return f == NULL || (*f & CODE_NORETURN) == 0;
}

/* A call to a later place of its own function serves to learn an address; text may follow it. */
static bool calls_itself(const struct code *c, const struct instruction *i,
                         const struct code_range *r)
{
    const uint8_t *f = code_at(c, i->target);
    if (i->form.flow != FLOW_CALL || i->target <= i->at || f == NULL || (*f & CODE_ENTRY) != 0)
        return false;
    return r != NULL ? i->target < r->end : i->target - i->next < 256;
}

/* Returns whether control flow continues after the instruction. Notes its other targets. */
static bool goes_on(struct follow_walk *w, const struct instruction *i, struct follow_run *run,
                    const struct code_range *range)
{
    switch ((enum flow)i->form.flow) {
    case FLOW_NEXT: return true;
    case FLOW_BRANCH: branch(w, i, range); return true;
    case FLOW_JUMP: branch(w, i, range); return false;
    case FLOW_JUMP_POINTER: code_add(w->c, &w->c->indirect, i->at); return false;
    case FLOW_RETURN:
    case FLOW_END: return false;
    case FLOW_CALL:
    case FLOW_CALL_POINTER:
        if (i->form.flow == FLOW_CALL)
            aim(w, i->target);
        if (calls_itself(w->c, i, range)) {
            code_add(w->c, &w->c->maybe, i->next);
            return false;
        }
        run->behind_call = i->next;
        run->todo = w->todo->count;
        return comes_back(w->c, i);
    }
    return false;
}

/* The run cannot be as decoded. If it has a call, the call did not return: takes back what follows
 * the call. Otherwise all of the run is in doubt. */
static void give_up(struct follow_walk *w, const struct follow_run *run, uint64_t at)
{
    if (run->behind_call != 0)
        w->todo->count = run->todo;
    else if (w->trial)
        w->contradiction = true;
    for (uint64_t b = run->behind_call != 0 ? run->behind_call : run->begin; b < at; b++) {
        uint8_t *f = code_at(w->c, b);
        if (f == NULL || (*f & CODE_START) == 0)
            continue;
        if (run->behind_call != 0)
            drop(w->c, b);
        else
            *f |= CODE_UNSURE;
    }
}

/* Caches the last range: most runs are in the function of the previous run. */
static const struct code_range *range_of(struct follow_walk *w, uint64_t at)
{
    const struct code_range *r = w->range, *end = w->c->ranges + w->c->range_count;
    if (r == NULL || at < r->start || at >= r->end || (r + 1 < end && at >= r[1].start))
        w->range = code_range_of(w->c, at);
    return w->range;
}

/* Notes what the instruction says about other places. Returns false if the run ends with it. */
static bool look_at(struct follow_walk *w, const struct instruction *i, struct follow_run *run,
                    const struct code_range *range)
{
    if (i->form.relative || !w->c->image->dynamic_type)
        note_references(w, i);
    return goes_on(w, i, run, range);
}

static void walk_run(struct follow_walk *w, uint64_t at)
{
    struct code *c = w->c;
    const struct code_range *range = range_of(w, at);
    const struct code_segment *s = NULL;
    const bool dynamic = c->image->dynamic_type;
    struct follow_run run = {.begin = at};
    for (;;) {
        if (s == NULL || at - s->address >= s->size)
            s = code_segment_of(c, at);
        uint64_t n = s != NULL ? at - s->address : 0;
        uint8_t *f = s != NULL ? s->flags + n : NULL;
        if (f != NULL && (*f & CODE_START) != 0)
            return;
        /* At the end of its function a run ends if its last call stands there, which then does not
         * return, or if the next function begins there, which is followed separately. */
        if (range != NULL && at == range->end &&
            (at == run.behind_call || (f != NULL && (*f & CODE_ENTRY) != 0)))
            return;
        uint32_t found = f != NULL ? form_find(c->forms, s->bytes + n, s->size - n) : 0;
        const struct form *form = form_found(c->forms, found);
        unsigned length = form_length(found);
        if (length == 0 || (range != NULL && length > range->end - at) ||
            (w->trial && is_odd(form, s->bytes + n, s->size - n))) {
            give_up(w, &run, at);
            return;
        }
        uint64_t next = at + length;
        if (!is_free(f, length)) {
            if (!w->trial && run.behind_call == 0)
                dispute(c, at, next);
            give_up(w, &run, at);
            return;
        }
        take(w, at, length, f);
        if (form->flow != FLOW_NEXT || form->relative || !dynamic) {
            struct instruction i = instruction_of(form, s->bytes + n, at);
            if (!look_at(w, &i, &run, range))
                return;
        }
        at = next;
    }
}

static bool walk(struct code *c, uint64_t root, bool trial)
{
    struct follow_walk w = {.c = c, .todo = &c->todo, .done = &c->done, .trial = trial};
    size_t indirect = c->indirect.count, maybe = c->maybe.count;
    uint64_t runs = c->runs;
    c->todo.count = c->done.count = 0;
    aim(&w, root);
    for (; c->todo.count > 0 && !w.contradiction && !c->no_memory; c->runs++)
        walk_run(&w, c->todo.at[--c->todo.count]);
    if (w.contradiction) {
        for (size_t i = 0; i < c->done.count; i++)
            drop(c, c->done.at[i]);
        c->indirect.count = indirect;
        c->maybe.count = maybe;
        c->runs = runs;
    }
    return !w.contradiction;
}

void code_follow(struct code *c, uint64_t root)
{
    (void)walk(c, root, false);
}

bool code_try(struct code *c, uint64_t root)
{
    const uint8_t *f = code_at(c, root);
    if (f == NULL || (*f & (CODE_BODY | CODE_DATA)) != 0)
        return false;
    if ((*f & CODE_START) != 0)
        return true;
    /* Each guess may lead through most of a function to the same contradiction. */
    struct code_range *r = code_range_of(c, root);
    if (r != NULL && r->in_vain > FEW_IN_VAIN + MOST_IN_VAIN * (r->end - r->start))
        return false;
    bool is_code = walk(c, root, true);
    if (!is_code && r != NULL)
        r->in_vain += c->done.count;
    return is_code;
}
