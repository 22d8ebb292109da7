/* SPDX-License-Identifier: BSD-3-Clause
 * Estimates block frequencies: all successors of a block are equally likely, and loops iterate 32
 * times each time they are entered. With fewer iterations, outcomes in a loop would cost less than
 * a value before it. Wu and Larus, "Static branch frequency and program profile analysis" (1994),
 * without their heuristics. */
#include "isa/memory/skel.h"

enum { TURNS = 32, DEEPEST = 6, ONCE = 1 << 10 };
/* Limits frequencies: loops with entries anywhere have duplicated blocks that all lead to each
 * other. */
#define MOST (UINT64_C(1) << 40)

static bool holds(const struct function *f, int32_t loop, uint32_t block)
{
    int32_t of = f->blocks[block].loop;
    while (of != SKEL_NONE && of != loop)
        of = f->loops[of].parent;
    return loop == SKEL_NONE || of == loop;
}

/* Returns how often the edge to `to` is taken, if block `from` executes `often` times. */
static uint64_t way(const struct function *f, uint32_t from, uint32_t to, uint64_t frequency)
{
    const struct block *b = &f->blocks[from];
    uint32_t stay = 0;
    for (uint32_t k = 0; k < b->succ_count; k++)
        stay += holds(f, b->loop, b->succ[k]);
    uint32_t leave = b->succ_count - stay;
    if (stay == 0 || leave == 0)
        return frequency / b->succ_count;
    return holds(f, b->loop, to) ? frequency * (TURNS - 1) / TURNS / stay
                                 : frequency / TURNS / leave;
}

const uint64_t *frequency_estimate(const struct function *f)
{
    uint64_t *frequency = arena_take(f->arena, (f->block_count + 1) * sizeof *frequency);
    for (uint32_t k = 0; k < f->order_count; k++) {
        uint32_t block = f->order[k];
        const struct block *b = &f->blocks[block];
        uint64_t sum = k == 0 ? ONCE : 0;
        for (uint32_t n = 0; n < b->pred_count; n++)
            if (f->blocks[b->pred[n]].order < b->order)
                sum += way(f, b->pred[n], block, frequency[b->pred[n]]);
        bool head = b->loop != SKEL_NONE && f->loops[b->loop].head == block;
        if (head && f->loops[b->loop].depth <= DEEPEST)
            sum *= TURNS;
        frequency[block] = sum > MOST ? MOST : sum > TURNS ? sum : TURNS;
    }
    return frequency;
}
