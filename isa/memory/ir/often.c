/* SPDX-License-Identifier: BSD-3-Clause
 * How often blocks are executed, by a guess: where ways part each as often as the others, loops 32 times each time that they are come to. Fewer, and
 * outcomes in a loop would cost less than a value before it. Wu and Larus, "Static branch frequency and program profile analysis" (1994), without their
 * heuristics. */
#include "isa/memory/skel.h"

enum { TURNS = 32, DEEPEST = 6, ONCE = 1 << 10 };
/* Loops that are entered anywhere have copies of blocks that lead to each other in all ways. */
#define MOST (UINT64_C(1) << 40)

static bool holds(const struct function *f, int32_t loop, uint32_t block)
{
    int32_t of = f->blocks[block].loop;
    while (of != SKEL_NONE && of != loop)
        of = f->loops[of].parent;
    return loop == SKEL_NONE || of == loop;
}

/* Of a block that is executed so often: its way to a successor. */
static uint64_t way(const struct function *f, uint32_t from, uint32_t to, uint64_t often)
{
    const struct block *b = &f->blocks[from];
    uint32_t stay = 0;
    for (uint32_t k = 0; k < b->succ_count; k++)
        stay += holds(f, b->loop, b->succ[k]);
    uint32_t leave = b->succ_count - stay;
    if (stay == 0 || leave == 0)
        return often / b->succ_count;
    return holds(f, b->loop, to) ? often * (TURNS - 1) / TURNS / stay : often / TURNS / leave;
}

const uint64_t *often_guess(const struct function *f)
{
    uint64_t *often = arena_take(f->arena, (f->block_count + 1) * sizeof *often);
    for (uint32_t k = 0; k < f->order_count; k++) {
        uint32_t block = f->order[k];
        const struct block *b = &f->blocks[block];
        uint64_t sum = k == 0 ? ONCE : 0;
        for (uint32_t n = 0; n < b->pred_count; n++)
            if (f->blocks[b->pred[n]].order < b->order)
                sum += way(f, b->pred[n], block, often[b->pred[n]]);
        bool head = b->loop != SKEL_NONE && f->loops[b->loop].head == block;
        if (head && f->loops[b->loop].depth <= DEEPEST)
            sum *= TURNS;
        often[block] = sum > MOST ? MOST : sum > TURNS ? sum : TURNS;
    }
    return often;
}
