/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the order, the dominators (Cooper, Harvey, Kennedy 2001) and the loops of a graph. A loop
 * with several entries gets a single head: an entry elsewhere leads to a duplicate of the body,
 * which runs until it reaches that head. Before each head stands a preheader, through which all
 * edges from outside the loop lead. */
#include "isa/memory/skel.h"

#include <string.h>

enum { MOST_COPIES = 8, MOST_WORK = 100000 /* edges visited again */ };

/* --- order and dominators --------------------------------------------------------------------- */

struct visit {
    uint32_t block, next;
};

static void find_order(struct function *f)
{
    struct visit *stack = arena_take(f->arena, (f->block_count + 1) * sizeof *stack);
    bool *seen = arena_take(f->arena, f->block_count);
    size_t depth = 1;
    uint32_t *order = arena_take(f->arena, f->block_count * sizeof *order), n = f->block_count;
    seen[0] = true;
    while (depth > 0) {
        struct visit *v = &stack[depth - 1];
        const struct block *b = &f->blocks[v->block];
        if (v->next == b->succ_count) {
            order[--n] = v->block;
            depth--;
            continue;
        }
        uint32_t to = b->succ[v->next++];
        if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = (struct visit){.block = to};
        }
    }
    f->order = order + n;
    f->order_count = f->block_count - n;
    for (uint32_t k = 0; k < f->order_count; k++)
        f->blocks[f->order[k]].order = k;
}

static uint32_t common(const struct function *f, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (f->blocks[a].order > f->blocks[b].order)
            a = (uint32_t)f->blocks[a].idom;
        while (f->blocks[b].order > f->blocks[a].order)
            b = (uint32_t)f->blocks[b].idom;
    }
    return a;
}

static void find_dominators(struct function *f)
{
    bool changed = true;
    for (uint32_t k = 0; k < f->order_count; k++)
        f->blocks[f->order[k]].idom = SKEL_NONE;
    f->blocks[0].idom = 0;
    while (changed) {
        changed = false;
        for (uint32_t k = 1; k < f->order_count; k++) {
            struct block *b = &f->blocks[f->order[k]];
            int32_t idom = SKEL_NONE;
            for (uint32_t p = 0; p < b->pred_count; p++)
                if (f->blocks[b->pred[p]].idom != SKEL_NONE)
                    idom = idom == SKEL_NONE ? (int32_t)b->pred[p]
                                             : (int32_t)common(f, (uint32_t)idom, b->pred[p]);
            changed = changed || idom != b->idom;
            b->idom = idom;
        }
    }
    f->blocks[0].idom = SKEL_NONE;
}

static void settle(struct function *f)
{
    find_order(f);
    graph_link(f);
    find_dominators(f);
}

bool loops_dominates(const struct function *f, uint32_t a, uint32_t b)
{
    while (f->blocks[b].order > f->blocks[a].order)
        b = (uint32_t)f->blocks[b].idom;
    return a == b;
}

/* --- loops with several entries --------------------------------------------------------------- */

/* Marks blocks that `from` leads to (forward) or that lead to it, and that `above` strictly
 * dominates. */
static void reach(const struct function *f, uint32_t from, uint32_t above, bool forward, bool *in)
{
    uint32_t *todo = arena_take(f->arena, f->block_count * sizeof *todo);
    size_t count = 1;
    todo[0] = from;
    in[from] = true;
    while (count > 0) {
        const struct block *b = &f->blocks[todo[--count]];
        uint32_t n = forward ? b->succ_count : b->pred_count;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t to = forward ? b->succ[k] : b->pred[k];
            if (in[to] || to == above || !loops_dominates(f, above, to))
                continue;
            in[to] = true;
            todo[count++] = to;
        }
    }
}

static bool is_entry(const struct function *f, uint32_t block, const bool *in)
{
    for (uint32_t k = 0; k < f->blocks[block].pred_count; k++)
        if (!in[f->blocks[block].pred[k]])
            return true;
    return false;
}

/* Duplicates all blocks but the head, which the duplicates reach in the end. */
static void duplicate(struct function *f, const bool *in, uint32_t head, uint32_t count)
{
    uint32_t *copy = arena_take(f->arena, count * sizeof *copy);
    for (uint32_t n = 0; n < count; n++) {
        copy[n] = n;
        if (!in[n] || n == head)
            continue;
        copy[n] = graph_add_block(f);
        struct block *b = &f->blocks[copy[n]];
        *b = f->blocks[n];
        b->copy++;
        b->succ = arena_take(f->arena, b->succ_count * sizeof *b->succ);
        memcpy(b->succ, f->blocks[n].succ, b->succ_count * sizeof *b->succ);
        b->pred = NULL;
        b->pred_count = 0;
    }
    for (uint32_t n = 0; n < count; n++) {
        /* Edges from outside lead into the duplicate; its own edges stay within it. */
        struct block *b = &f->blocks[in[n] ? copy[n] : n];
        for (uint32_t k = 0; (!in[n] || n != head) && k < b->succ_count; k++)
            if (in[b->succ[k]])
                b->succ[k] = copy[b->succ[k]];
    }
}

/* Splits one loop with several entries. Returns false if there is none. */
static bool split_one(struct function *f)
{
    for (uint32_t k = 0; k < f->order_count; k++) {
        const struct block *b = &f->blocks[f->order[k]];
        for (uint32_t s = 0; s < b->succ_count; s++) {
            uint32_t to = b->succ[s];
            if (f->blocks[to].order > b->order || loops_dominates(f, to, f->order[k]))
                continue;
            uint32_t above = (uint32_t)f->blocks[to].idom, count = f->block_count, head = to;
            bool *in = arena_take(f->arena, count), *back = arena_take(f->arena, count);
            reach(f, to, above, true, in);
            reach(f, to, above, false, back);
            for (uint32_t n = 0; n < count; n++) {
                in[n] = in[n] && back[n];
                if (in[n] && f->blocks[n].order < f->blocks[head].order && is_entry(f, n, in))
                    head = n;
            }
            duplicate(f, in, head, count);
            return true;
        }
    }
    return false;
}

/* --- nesting ---------------------------------------------------------------------------------- */

static bool is_head(const struct function *f, uint32_t block)
{
    for (uint32_t k = 0; k < f->blocks[block].pred_count; k++)
        if (loops_dominates(f, block, f->blocks[block].pred[k]))
            return true;
    return false;
}

static void add_preheaders(struct function *f)
{
    for (uint32_t k = 0; k < f->order_count; k++) {
        uint32_t head = f->order[k];
        if (!is_head(f, head))
            continue;
        uint32_t before = graph_add_block(f), *succ = arena_take(f->arena, sizeof *succ);
        *succ = head;
        f->blocks[before] = (struct block){.start = f->blocks[head].start,
                                           .succ = succ,
                                           .succ_count = 1,
                                           .end = END_FALL,
                                           .copy = f->blocks[head].copy,
                                           .preheader = true,
                                           .idom = SKEL_NONE,
                                           .loop = SKEL_NONE};
        for (uint32_t p = 0; p < f->blocks[head].pred_count; p++) {
            uint32_t from = f->blocks[head].pred[p];
            if (loops_dominates(f, head, from))
                continue;
            for (uint32_t s = 0; s < f->blocks[from].succ_count; s++)
                if (f->blocks[from].succ[s] == head)
                    f->blocks[from].succ[s] = before;
        }
    }
}

/* Adds to the loop all blocks that lead to the latch; loops that were found before join as a
 * whole. */
static void fill(struct function *f, uint32_t number, uint32_t latch, uint32_t *todo)
{
    size_t count = 0;
    uint32_t head = f->loops[number].head;
    todo[count++] = latch;
    while (count > 0) {
        uint32_t n = todo[--count];
        int32_t loop = f->blocks[n].loop;
        while (loop != SKEL_NONE && f->loops[loop].parent != SKEL_NONE)
            loop = f->loops[loop].parent;
        if (loop == (int32_t)number)
            continue;
        if (loop == SKEL_NONE)
            f->blocks[n].loop = (int32_t)number;
        else
            f->loops[loop].parent = (int32_t)number;
        uint32_t from = loop == SKEL_NONE ? n : f->loops[loop].head;
        if (from == head)
            continue;
        for (uint32_t k = 0; k < f->blocks[from].pred_count; k++)
            todo[count++] = f->blocks[from].pred[k];
    }
}

/* Finds inner loops before outer ones, then reverses the list, so that outer loops come first. */
static void nest(struct function *f)
{
    uint32_t edges = 1;
    for (uint32_t k = 0; k < f->order_count; k++)
        edges += f->blocks[f->order[k]].pred_count;
    uint32_t *todo = arena_take(f->arena, edges * sizeof *todo);
    for (uint32_t k = f->order_count; k-- > 0;) {
        uint32_t head = f->order[k];
        if (!is_head(f, head))
            continue;
        f->loops = arena_grow(f->arena, f->loops, f->loop_count, sizeof *f->loops);
        f->loops[f->loop_count++] = (struct loop){.head = head, .parent = SKEL_NONE};
        for (uint32_t p = 0; p < f->blocks[head].pred_count; p++)
            if (loops_dominates(f, head, f->blocks[head].pred[p]))
                fill(f, f->loop_count - 1, f->blocks[head].pred[p], todo);
    }
    for (uint32_t n = 0; n < f->loop_count / 2; n++) {
        struct loop swapped = f->loops[n];
        f->loops[n] = f->loops[f->loop_count - 1 - n];
        f->loops[f->loop_count - 1 - n] = swapped;
    }
    for (uint32_t n = 0; n < f->loop_count; n++) {
        struct loop *l = &f->loops[n];
        l->number = n;
        if (l->parent != SKEL_NONE)
            l->parent = (int32_t)f->loop_count - 1 - l->parent;
        l->depth = l->parent != SKEL_NONE ? f->loops[l->parent].depth + 1 : 1;
    }
    for (uint32_t k = 0; k < f->order_count; k++) {
        struct block *b = &f->blocks[f->order[k]];
        if (b->loop != SKEL_NONE)
            b->loop = (int32_t)f->loop_count - 1 - b->loop;
    }
}

bool loops_holds(const struct function *f, uint32_t loop, int32_t inner)
{
    while (inner != SKEL_NONE && inner != (int32_t)loop)
        inner = f->loops[inner].parent;
    return inner == (int32_t)loop;
}

static struct block *copy_blocks(struct function *f, const struct block *from, uint32_t count)
{
    struct block *to = arena_take(f->arena, (count + 1) * sizeof *to);
    for (uint32_t n = 0; n < count; n++) {
        to[n] = from[n];
        to[n].succ = arena_take(f->arena, (from[n].succ_count + 1) * sizeof *to[n].succ);
        if (from[n].succ_count != 0)
            memcpy(to[n].succ, from[n].succ, from[n].succ_count * sizeof *to[n].succ);
    }
    return to;
}

/* Splits no loop at all if there would be too many copies, or if it would take seconds (an
 * interpreter whose jumps all lead to all others). Such loops have no counter. */
static void split(struct function *f)
{
    uint32_t count = f->block_count, most = MOST_COPIES * count + 256;
    uint64_t work = 0;
    struct block *before = copy_blocks(f, f->blocks, count);
    while (f->block_count <= most && work <= MOST_WORK && split_one(f)) {
        work += graph_edges(f);
        settle(f);
    }
    if (f->block_count <= most && work <= MOST_WORK)
        return;
    for (uint32_t n = 0; n < f->block_count; n++)
        f->blocks[n] = (struct block){.idom = SKEL_NONE, .loop = SKEL_NONE};
    memcpy(f->blocks, before, count * sizeof *before);
    f->block_count = count;
    settle(f);
}

void loops_find(struct function *f)
{
    settle(f);
    split(f);
    add_preheaders(f);
    settle(f);
    nest(f);
}
