/* SPDX-License-Identifier: BSD-3-Clause
 * Follows all paths to an instruction backwards, up to the instructions that have set a
 * register. */
#include "isa/flow/reaching_definitions.h"

#include <stdlib.h>

enum {
    MOST_WAYS = 1024,  /* paths that part on the way back from one instruction */
    MOST_STEPS = 8192, /* instructions examined */
};

/* A point on a path: before `at`, the value is in this register. */
struct reaching_way {
    uint64_t at;
    unsigned reg;
};

struct reaching_search {
    const struct reaching *reaching;
    struct reaching_way seen[MOST_WAYS]; /* the first `done` have been followed */
    size_t seen_count, done;
    unsigned steps;
    struct address_list *sources;
    bool complete;
};

static bool add_edge(struct reaching *w, uint64_t from, uint64_t to)
{
    if (image_grow((void **)&w->edges, w->edge_count, sizeof *w->edges) != 0)
        return false;
    w->edges[w->edge_count++] = (struct jump_target){from, to};
    return true;
}

static bool is_within(const struct code_range *r, uint64_t address)
{
    return address >= r->start && address < r->end;
}

static bool add_branches(struct reaching *w, const struct code_range *range)
{
    const struct code *c = w->code;
    const struct code_segment *s = code_segment_of(c, range->start);
    uint64_t end = s != NULL ? range->end - s->address : 0, n;
    struct instruction i;
    if (s == NULL)
        return true;
    for (n = code_next_flagged(s, range->start - s->address, CODE_START); n < end;
         n = code_next_flagged(s, n + 1, CODE_START))
        if (code_decode(c, s->address + n, &i) &&
            (i.form.flow == FLOW_BRANCH || i.form.flow == FLOW_JUMP) &&
            is_within(range, i.target) && !add_edge(w, i.at, i.target))
            return false;
    return true;
}

/* Adds branches from other ranges into this one. */
static bool add_crossings(struct reaching *w, const struct code_range *range)
{
    const struct code *c = w->code;
    for (size_t k = image_search(c->crossings, w->crossings, sizeof *c->crossings,
                                 offsetof(struct jump_target, target), range->start);
         k < w->crossings && c->crossings[k].target < range->end; k++)
        if (code_is_sure(c, c->crossings[k].at) &&
            !add_edge(w, c->crossings[k].at, c->crossings[k].target))
            return false;
    return true;
}

/* Adds the edges of the function's parts that lie elsewhere and jump back. Control enters such a
 * part from the function. */
static bool add_parts(struct reaching *w)
{
    const struct code *c = w->code;
    size_t own = w->edge_count;
    if (!add_crossings(w, w->range))
        return false;
    const struct code_range *last = w->range;
    for (size_t k = own, count = w->edge_count; k < count; k++) {
        const struct code_range *part = code_range_of(c, w->edges[k].at);
        if (part == NULL || part == last)
            continue;
        last = part; /* most often there is only one; duplicates do no harm */
        if (!add_branches(w, part) || !add_crossings(w, part))
            return false;
    }
    return true;
}

bool reaching_open(struct reaching *w, struct code_range *range)
{
    const struct code *c = w->code;
    reaching_close(w);
    w->range = range;
    bool enough = add_branches(w, range) && add_parts(w);
    for (size_t k = image_search(c->jump_targets, w->targets, sizeof *c->jump_targets,
                                 offsetof(struct jump_target, at), range->start);
         k < w->targets && c->jump_targets[k].at < range->end && enough; k++)
        enough = add_edge(w, c->jump_targets[k].at, c->jump_targets[k].target);
    image_sort(w->edges, w->edge_count, sizeof *w->edges, offsetof(struct jump_target, target));
    return enough;
}

void reaching_close(struct reaching *w)
{
    free(w->edges);
    w->edges = NULL;
    w->edge_count = 0;
    w->range = NULL;
}

static void go(struct reaching_search *s, uint64_t at, unsigned reg)
{
    for (size_t k = 0; k < s->seen_count; k++)
        if (s->seen[k].at == at && s->seen[k].reg == reg)
            return;
    if (s->seen_count == MOST_WAYS)
        s->complete = false;
    else
        s->seen[s->seen_count++] = (struct reaching_way){at, reg};
}

/* Continues the search at all branches that lead to `at`. Returns how many there are. */
static size_t go_to_joins(struct reaching_search *s, uint64_t at, unsigned reg)
{
    const struct reaching *w = s->reaching;
    size_t n = 0, low = image_search(w->edges, w->edge_count, sizeof *w->edges,
                                     offsetof(struct jump_target, target), at);
    for (; low + n < w->edge_count && w->edges[low + n].target == at; n++)
        go(s, w->edges[low + n].at, reg);
    return n;
}

/* Returns whether unknown edges may lead to `at`: it is a function's entry (outside w->range:
 * unless known branches, `joins`, lead there), or it is named and the function's jumps have unknown
 * targets. */
static bool is_open(const struct reaching *w, uint64_t at, bool joins)
{
    const struct code *c = w->code;
    const uint8_t *f = code_at(c, at);
    bool named = code_has(&c->words, at) || code_has(&c->code_refs, at),
         part = joins && !is_within(w->range, at);
    return f == NULL || ((*f & CODE_ENTRY) != 0 && !part) || (named && w->range->wild);
}

static bool is_numbered(const ZydisDecodedOperand *o, unsigned reg)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) ==
               (ZydisRegister)(ZYDIS_REGISTER_RAX + reg);
}

/* Registers that functions preserve for their callers. */
enum { CALLED_KEEPS = 1 << 3 | 1 << 4 | 1 << 5 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 };

/* Returns whether `at` is a landing pad and its register is preserved by calls: an exception
 * arrives there with the value that the register had at a call in this function, and other paths
 * pass that call too. */
static bool keeps(const struct reaching *w, struct reaching_way at)
{
    const struct image *m = w->code->image;
    if ((CALLED_KEEPS >> at.reg & 1) == 0)
        return false;
    for (size_t k = 0; k < m->landing_pad_count; k++)
        if (m->landing_pads[k] == at.at)
            return true;
    return false;
}

static bool writes(const struct reaching *w, const struct instruction *i, unsigned reg)
{
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (i->form.flow == FLOW_CALL || i->form.flow == FLOW_CALL_POINTER)
        return (CALLED_KEEPS >> reg & 1) == 0;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&w->decoder, i->bytes, i->form.length, &z, operands)))
        return true;
    for (unsigned k = 0; k < z.operand_count; k++)
        if ((operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
            is_numbered(&operands[k], reg))
            return true;
    return false;
}

/* Returns the register that a move takes its value from; 16 if this is no move between
 * registers. */
static unsigned moved_from(const struct instruction *i)
{
    const struct form *f = &i->form;
    unsigned r = form_reg(f), b = form_rm(f);
    if (f->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || f->mod != 3 || f->has_66)
        return 16;
    if (f->map == ZYDIS_OPCODE_MAP_DEFAULT && f->opcode == 0x89)
        return r;
    bool conditional = f->map == ZYDIS_OPCODE_MAP_0F && (f->opcode & 0xf0) == 0x40;
    return conditional || (f->map == ZYDIS_OPCODE_MAP_DEFAULT && f->opcode == 0x8b) ? b : 16;
}

/* Reads the instruction before `at`. Returns false if there is none, or if control does not
 * continue from it to `at`. */
static bool comes_before(const struct reaching *w, uint64_t at, struct instruction *i)
{
    const struct code_range *r = is_within(w->range, at) ? w->range : code_range_of(w->code, at);
    uint64_t before = code_before(w->code, at, r != NULL ? r->start : 0);
    if (before == 0 || !code_is_sure(w->code, before) || !code_decode(w->code, before, i))
        return false;
    return i->form.flow == FLOW_NEXT || i->form.flow == FLOW_BRANCH || i->form.flow == FLOW_CALL ||
           i->form.flow == FLOW_CALL_POINTER;
}

static void add_source(struct reaching_search *s, uint64_t at)
{
    for (size_t k = 0; k < s->sources->count; k++)
        if (s->sources->at[k] == at)
            return;
    s->complete = code_append(s->sources, at) && s->complete;
}

/* Follows one path back to the instruction that sets the register. Leaves the branches that join it
 * to the search. */
static void go_back(struct reaching_search *s, struct reaching_way at)
{
    struct instruction i;
    for (;;) {
        size_t joins = go_to_joins(s, at.at, at.reg);
        if (is_open(s->reaching, at.at, joins != 0) || ++s->steps > MOST_STEPS) {
            s->complete = false;
            return;
        }
        if (!comes_before(s->reaching, at.at, &i)) {
            s->complete = s->complete && (joins != 0 || keeps(s->reaching, at));
            return;
        }
        at.at = i.at;
        if (!writes(s->reaching, &i, at.reg))
            continue;
        unsigned from = moved_from(&i);
        if (from == 16) {
            add_source(s, i.at);
            return;
        }
        if (i.form.map == ZYDIS_OPCODE_MAP_0F) /* the move may not happen */
            go(s, i.at, at.reg);
        go(s, i.at, from);
        return;
    }
}

bool reaching_sources(const struct reaching *w, uint64_t at, unsigned reg,
                      struct address_list *sources)
{
    struct reaching_search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return false;
    s->reaching = w;
    s->sources = sources;
    s->complete = true;
    go(s, at, reg);
    while (s->done < s->seen_count && s->steps <= MOST_STEPS)
        go_back(s, s->seen[s->done++]);
    bool complete = s->complete;
    free(s);
    return complete;
}
