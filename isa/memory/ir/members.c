/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts values and accesses by block, so that code which goes through a function block by block
 * looks at each once. */
#include "isa/memory/skel.h"

typedef uint32_t (*block_of)(const struct function *f, uint32_t n);

static uint32_t block_of_value(const struct function *f, uint32_t n)
{
    return f->values[n].block;
}

static uint32_t block_of_access(const struct function *f, uint32_t n)
{
    return f->accesses[n].block;
}

static struct members sorted(struct function *f, uint32_t count, block_of block)
{
    struct members m = {.start =
                            arena_take(f->arena, ((size_t)f->block_count + 2) * sizeof *m.start),
                        .list = arena_take(f->arena, ((size_t)count + 1) * sizeof *m.list)};
    for (uint32_t n = 0; n < count; n++)
        m.start[block(f, n) + 2]++;
    for (uint32_t b = 2; b < f->block_count + 2; b++)
        m.start[b] += m.start[b - 1];
    for (uint32_t n = 0; n < count; n++)
        m.list[m.start[block(f, n) + 1]++] = n;
    return m;
}

struct members members_values(struct function *f)
{
    return sorted(f, f->value_count, block_of_value);
}

struct members members_accesses(struct function *f)
{
    return sorted(f, f->access_count, block_of_access);
}
