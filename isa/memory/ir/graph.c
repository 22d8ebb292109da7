/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the blocks of a function: all that is reached from its start without leaving it. Follows
 * parts that a compiler has moved elsewhere (foo.cold); a jump to the start of another function
 * leaves the function. */
#include "isa/memory/skel.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INSTRUCTIONS = 200000, WIDEST_TABLE = 1 << 16 };

/* An address: 1 + number of the instruction there, whether a block begins there, and whether a copy
 * leaves there. */
struct seen {
    uint64_t address;
    uint32_t number;
    bool leads, leaves;
};

struct building {
    struct function *f;
    const struct code_range *range;
    struct seen *slots;
    size_t slot_count, used;
    uint64_t *todo;
    size_t todo_count, todo_room;
    uint64_t *leaders;
    size_t leader_count;
    uint32_t back; /* the block that leaves for the function's start; 0: none */
};

static void refuse(struct function *f, const char *reason, uint64_t at)
{
    if (f->reason == NULL) {
        f->reason = reason;
        f->reason_at = at;
    }
}

static struct seen *find(struct building *b, uint64_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (b->slot_count - 1);
    while (b->slots[at].address != 0 && b->slots[at].address != address)
        at = (at + 1) & (b->slot_count - 1);
    return &b->slots[at];
}

static struct seen *note(struct building *b, uint64_t address)
{
    if (2 * b->used >= b->slot_count) {
        struct seen *old = b->slots;
        size_t count = b->slot_count;
        b->slot_count *= 4;
        b->slots = arena_take(b->f->arena, b->slot_count * sizeof *b->slots);
        for (size_t i = 0; i < count; i++)
            if (old[i].address != 0)
                *find(b, old[i].address) = old[i];
    }
    struct seen *s = find(b, address);
    b->used += s->address == 0;
    s->address = address;
    return s;
}

static void begin_block(struct building *b, struct seen *s)
{
    if (s->leads)
        return;
    s->leads = true;
    b->leaders = arena_grow(b->f->arena, b->leaders, b->leader_count, sizeof *b->leaders);
    b->leaders[b->leader_count++] = s->address;
}

static void lead(struct building *b, uint64_t address)
{
    struct seen *s = note(b, address);
    if (s->leads)
        return;
    begin_block(b, s);
    b->todo = arena_grow(b->f->arena, b->todo, b->todo_count, sizeof *b->todo);
    b->todo[b->todo_count++] = address;
}

const struct image_symbol *graph_symbol_at(const struct image *m, uint64_t address)
{
    const struct image_symbol *found = NULL;
    for (size_t k = image_symbols_from(m, address);
         k < m->symbol_count && m->symbols[k].address == address; k++)
        if (image_is_function(&m->symbols[k]) &&
            (found == NULL || m->symbols[k].origin != IMAGE_PLT))
            found = &m->symbols[k];
    return found;
}

bool graph_is_part(const struct image_symbol *s)
{
    return s->origin != IMAGE_PLT && strstr(s->name, ".cold") != NULL;
}

bool graph_stays(const struct code *c, uint64_t target)
{
    const struct image_symbol *s = graph_symbol_at(c->image, target);
    return s == NULL || graph_is_part(s);
}

bool graph_is_call(const struct instruction *i)
{
    return (i->form.flow == FLOW_CALL && i->target != i->next) || i->form.flow == FLOW_CALL_POINTER;
}

/* Returns whether a jump to `target` stays in the function. */
static bool is_inside(const struct building *b, uint64_t target)
{
    const struct code_range *r = b->range;
    if (r != NULL && target >= r->start && target < r->end)
        return true;
    if (r == NULL)
        return target >= b->f->start && target < b->f->end;
    const struct code_range *other = code_range_of(b->f->code, target);
    if (other == NULL || code_at(b->f->code, target) == NULL)
        return false;
    const struct image_symbol *s = graph_symbol_at(b->f->code->image, target);
    if (s != NULL)
        return graph_is_part(s);
    /* a part whose symbol was stripped */
    return other->start != target || (b->f->claims != NULL && !code_has(b->f->claims, target));
}

/* Code that is reached only by jumps whose targets are unknown has not been decoded beforehand. So
 * nothing is known of what follows a call in it: it is taken for code, like the call. */
static bool is_unknown(const struct function *f, uint64_t at, uint64_t next)
{
    const struct code_range *r = code_range_of(f->code, at);
    const uint8_t *here = code_at(f->code, at), *there = code_at(f->code, next);
    return f->copied && r != NULL && next < r->end && (*here & (CODE_START | CODE_BODY)) == 0 &&
           (*there & (CODE_START | CODE_BODY)) == 0;
}

static bool comes_back(const struct function *f, const struct instruction *i)
{
    const uint8_t *callee = i->form.flow == FLOW_CALL ? code_at(f->code, i->target) : NULL;
    const uint8_t *next = code_at(f->code, i->next);
    if (callee != NULL && (*callee & CODE_NORETURN) != 0)
        return false;
    if (next == NULL || (*next & (CODE_PADDING | CODE_DATA)) != 0)
        return false;
    return (*next & CODE_START) != 0 || is_unknown(f, i->at, i->next);
}

static bool falls_through(const struct function *f, const struct instruction *i)
{
    switch ((enum flow)i->form.flow) {
    case FLOW_NEXT:
    case FLOW_BRANCH: return true;
    case FLOW_CALL:
    case FLOW_CALL_POINTER: return comes_back(f, i);
    default: return false;
    }
}

static void follow_targets(struct building *b, const struct instruction *i)
{
    const struct jump_target *t;
    if (i->form.flow == FLOW_JUMP_POINTER) {
        size_t n = code_targets_of(b->f->code, i->at, &t);
        for (size_t k = 0; k < n; k++)
            lead(b, t[k].target);
    } else if ((i->form.flow == FLOW_BRANCH || i->form.flow == FLOW_JUMP) &&
               is_inside(b, i->target)) {
        lead(b, i->target);
    }
    if (i->form.flow == FLOW_BRANCH)
        lead(b, i->next);
}

/* Returns whether `i` calls a function that returns twice or inspects its caller. uw_init_context_1
 * belongs to GCC's unwinder, if that is linked into the program. */
static bool wants_its_caller(const struct function *f, const struct instruction *i)
{
    static const char *const names[] = {"vfork",   "getcontext", "swapcontext",
                                        "dlsym",   "dlvsym",     "dlopen",
                                        "dlmopen", "dladdr",     "uw_init_context_1"};
    const struct image *m = f->code->image;
    const char *name = NULL;
    if (i->form.flow == FLOW_CALL || i->form.flow == FLOW_JUMP) {
        const struct image_symbol *s = graph_symbol_at(m, i->target);
        name = s != NULL ? s->name : NULL;
    } else if ((i->form.flow == FLOW_CALL_POINTER || i->form.flow == FLOW_JUMP_POINTER) &&
               i->form.relative) {
        name = image_slot_name(m, i->memory);
    }
    for (size_t n = 0; name != NULL && n < sizeof names / sizeof *names; n++)
        if (strcmp(name, names[n]) == 0)
            return true;
    return false;
}

/* Returns whether the called function discards or overwrites its return address: `1: mov %rax,
 * (%rsp); ret` in place of a jump through rax. */
static bool goes_elsewhere(const struct function *f, const struct instruction *call)
{
    enum { REX_W = 0x48, REX_R = 4, MOV = 0x89, LEA = 0x8d, ADD = 0x83, SIB_RSP = 0x24 };
    struct instruction i;
    if (call->form.flow != FLOW_CALL || call->target == call->next ||
        !code_decode(f->code, call->target, &i) || i.form.length < 4 ||
        (i.bytes[0] & ~REX_R) != REX_W)
        return false;
    const uint8_t *b = i.bytes + 1;
    return (b[0] == MOV && (b[1] & 0xc7) == 0x04 && b[2] == SIB_RSP) || /* mov %r, (%rsp) */
           (b[0] == LEA && b[1] == 0x64 && b[2] == SIB_RSP && b[3] == 8) ||
           (b[0] == ADD && b[1] == 0xc4 && b[2] == 8);
}

/* Returns whether a copy cannot execute `i` in the function's place. */
static bool must_leave(const struct function *f, const struct instruction *i)
{
    if (f->sites != NULL && code_has(f->sites, i->at) && !(f->watched && i->at == f->start))
        return true;
    enum { INT3 = 0xcc, INT = 0xcd, INT1 = 0xf1, STD = 0xfd, XBEGIN = 0xc7 };
    bool plain = i->form.map == ZYDIS_OPCODE_MAP_DEFAULT &&
                 i->form.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    if (plain && (i->form.opcode == INT3 || i->form.opcode == INT || i->form.opcode == INT1 ||
                  i->form.opcode == STD))
        return true;
    /* Processors differ in where branches with prefix 66 lead. A transaction's end is no branch
     * that code sees. */
    if (i->form.flow == FLOW_BRANCH && (i->form.has_66 || (plain && i->form.opcode == XBEGIN)))
        return true;
    if (i->form.flow == FLOW_NEXT &&
        (i->form.imm_relative || (i->form.relative && i->form.address_width != 64)))
        return true;
    return wants_its_caller(f, i) || goes_elsewhere(f, i);
}

/* Decodes from a leader on, up to code that has been seen. */
static void explore(struct building *b, uint64_t at)
{
    struct function *f = b->f;
    struct instruction i;
    while (f->reason == NULL) {
        struct seen *seen = note(b, at);
        if (seen->number != 0 || seen->leaves) {
            begin_block(b, seen); /* instructions before it may overlap (a jump over a prefix) */
            return;
        }
        if (!code_decode(f->code, at, &i)) {
            refuse(f, "bytes that are no instruction", at);
            return;
        }
        if (f->copied && must_leave(f, &i)) {
            if (at == f->start) {
                refuse(f, "it begins with what a copy cannot do", at);
                return;
            }
            seen->leaves = true;
            begin_block(b, seen);
            return;
        }
        if (f->instruction_count == MOST_INSTRUCTIONS) {
            refuse(f, "more than 200000 instructions", at);
            return;
        }
        f->instructions =
            arena_grow(f->arena, f->instructions, f->instruction_count, sizeof *f->instructions);
        f->instructions[f->instruction_count] = i;
        note(b, at)->number = ++f->instruction_count;
        follow_targets(b, &i);
        if (i.form.flow == FLOW_BRANCH || !falls_through(f, &i))
            return;
        at = i.next;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct instruction *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint32_t graph_add_block(struct function *f)
{
    f->blocks = arena_grow(f->arena, f->blocks, f->block_count, sizeof *f->blocks);
    f->blocks[f->block_count] = (struct block){.idom = SKEL_NONE, .loop = SKEL_NONE};
    return f->block_count++;
}

static void add_successor(struct function *f, uint32_t block, uint32_t to)
{
    struct block *b = &f->blocks[block];
    b->succ = arena_grow(f->arena, b->succ, b->succ_count, sizeof *b->succ);
    b->succ[b->succ_count++] = to;
}

void graph_link(struct function *f)
{
    for (uint32_t i = 0; i < f->block_count; i++)
        f->blocks[i].pred_count = 0;
    for (uint32_t k = 0; k < f->order_count; k++) {
        uint32_t i = f->order[k];
        for (uint32_t s = 0; s < f->blocks[i].succ_count; s++) {
            struct block *to = &f->blocks[f->blocks[i].succ[s]];
            to->pred = arena_grow(f->arena, to->pred_count != 0 ? to->pred : NULL, to->pred_count,
                                  sizeof *to->pred);
            to->pred[to->pred_count++] = i;
        }
    }
}

/* Returns the block that begins at `address`, or 0. Block 0 is the entry, without instructions;
 * number n of the sorted leaders begins block n + 1. */
static uint32_t block_at(const struct building *b, uint64_t address)
{
    size_t n;
    SEARCH_FIRST(n, b->leader_count, b->leaders[n] < address);
    return n < b->leader_count && b->leaders[n] == address ? (uint32_t)n + 1 : 0;
}

/* Returns whether code or data names an address in mid-function. */
static bool has_claims_within(const struct function *f, const struct code_range *r)
{
    size_t n, count = f->claims != NULL && r != NULL ? f->claims->count : 0;
    SEARCH_FIRST(n, count, f->claims->at[n] <= r->start);
    return n < count && f->claims->at[n] < r->end;
}

static uint64_t span_of(const struct jump_target *t, size_t n)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t k = 0; k < n; k++) {
        low = t[k].target < low ? t[k].target : low;
        high = t[k].target > high ? t[k].target : high;
    }
    return high - low;
}

/* Adds a block without instructions, through which a branch leaves the function. */
static uint32_t exit_block(struct function *f, uint64_t target)
{
    uint32_t n = graph_add_block(f);
    f->blocks[n].start = f->blocks[n].leaves = target;
    f->blocks[n].end = END_TAIL;
    return n;
}

/* Returns the block for a jump to `target` within the function. A jump to the start of a watched
 * function leaves the copy, so that the alarm there fires. */
static uint32_t way_to(struct building *b, uint64_t target)
{
    if (!b->f->watched || target != b->f->start)
        return block_at(b, target);
    if (b->back == 0)
        b->back = exit_block(b->f, target);
    return b->back;
}

static void end_table(struct building *b, uint32_t block, const struct instruction *i)
{
    struct function *f = b->f;
    const struct jump_target *t;
    size_t n = code_targets_of(f->code, i->at, &t);
    const struct code_range *r = code_range_of(f->code, i->at);
    /* Its targets were not found, in a function where such a jump may land anywhere. */
    bool wild = n == 0 && r != NULL && r->wild;
    if (wild && !f->copied)
        refuse(f, "a jump whose targets are not known", i->at);
    /* The program may store labels: what looks like a call may lead to one. */
    wild = wild || (f->copied && n == 0 && has_claims_within(f, r));
    if (f->copied && n != 0 && span_of(t, n) > WIDEST_TABLE) {
        wild = true;
        n = 0;
    }
    f->blocks[block].wild = wild;
    f->blocks[block].end = n != 0 ? END_TABLE : END_TAIL;
    for (size_t k = 0; k < n; k++)
        add_successor(f, block, way_to(b, t[k].target));
}

static void end_block(struct building *b, uint32_t block, const struct instruction *last)
{
    struct function *f = b->f;
    switch ((enum flow)last->form.flow) {
    case FLOW_BRANCH:
        f->blocks[block].end = END_BRANCH;
        add_successor(f, block,
                      is_inside(b, last->target) ? way_to(b, last->target)
                                                 : exit_block(f, last->target));
        add_successor(f, block, way_to(b, last->next));
        break;
    case FLOW_JUMP:
        f->blocks[block].end = is_inside(b, last->target) ? END_JUMP : END_TAIL;
        if (f->blocks[block].end == END_JUMP)
            add_successor(f, block, way_to(b, last->target));
        break;
    case FLOW_JUMP_POINTER: end_table(b, block, last); break;
    case FLOW_RETURN: f->blocks[block].end = END_RETURN; break;
    case FLOW_END: f->blocks[block].end = END_NORETURN; break;
    default:
        f->blocks[block].end =
            block_at(b, last->next) != 0 && falls_through(f, last) ? END_FALL : END_NORETURN;
        if (f->blocks[block].end == END_FALL)
            add_successor(f, block, way_to(b, last->next));
        break;
    }
}

/* Instructions are sorted by address. Overlapping ones, which a jump into an instruction causes, do
 * not follow each other. */
static void cut_blocks(struct building *b)
{
    struct function *f = b->f;
    uint32_t entry = graph_add_block(f);
    f->blocks[entry].start = f->start;
    f->blocks[entry].end = END_FALL;
    for (size_t n = 0; n < b->leader_count; n++) {
        uint32_t block = graph_add_block(f);
        f->blocks[block].start = b->leaders[n];
        if (!find(b, b->leaders[n])->leaves)
            continue;
        f->blocks[block].end = END_TAIL;
        f->blocks[block].leaves = b->leaders[n];
    }
    add_successor(f, entry, block_at(b, f->start));
    for (uint32_t k = 0; k < f->instruction_count && f->reason == NULL;) {
        uint32_t block = block_at(b, f->instructions[k].at), first = k;
        if (block == 0) {
            refuse(f, "instructions that overlap", f->instructions[k].at);
            return;
        }
        const struct instruction *i;
        do {
            i = &f->instructions[k++];
        } while (falls_through(f, i) && i->form.flow != FLOW_BRANCH && k < f->instruction_count &&
                 f->instructions[k].at == i->next && block_at(b, i->next) == 0);
        if (falls_through(f, i) && i->form.flow != FLOW_BRANCH && block_at(b, i->next) == 0) {
            refuse(f, "instructions that overlap", i->at);
            return;
        }
        f->blocks[block].first = first;
        f->blocks[block].count = k - first;
        end_block(b, block, i);
    }
}

void graph_build(struct function *f)
{
    struct building b = {.f = f, .slot_count = 64};
    b.range = code_range_of(f->code, f->start);
    b.slots = arena_take(f->arena, b.slot_count * sizeof *b.slots);
    lead(&b, f->start);
    while (b.todo_count > 0 && f->reason == NULL)
        explore(&b, b.todo[--b.todo_count]);
    if (f->reason != NULL)
        return;
    qsort(f->instructions, f->instruction_count, sizeof *f->instructions, by_address);
    qsort(b.leaders, b.leader_count, sizeof *b.leaders, by_number);
    cut_blocks(&b);
}

uint64_t graph_edges(const struct function *f)
{
    uint64_t edges = 0;
    for (uint32_t k = 0; k < f->order_count; k++)
        edges += f->blocks[f->order[k]].succ_count;
    return edges;
}
