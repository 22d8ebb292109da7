/* SPDX-License-Identifier: BSD-3-Clause
 * A hash table with open addressing, at most half full. */
#include "tools/memory/stats/footprint.h"

#include <stdlib.h>

enum { FIRST = 8 };

static uint64_t *slot_at(const struct skel_lines *s, size_t i)
{
    return s->slots + i * (1 + s->words);
}

static uint64_t *find(const struct skel_lines *s, uint64_t line)
{
    size_t i = skel_lines_place(line, s->size);
    uint64_t *slot;
    while ((slot = slot_at(s, i))[0] != 0 && slot[0] != line + 1)
        i = (i + SKEL_LINES_STEP) & (s->size - 1);
    return slot;
}

static void copy_mask(uint64_t *to, const uint64_t *from, unsigned words)
{
    for (unsigned k = 0; k < words; k++)
        to[k] |= from[k];
}

static bool grow(struct skel_lines *s)
{
    struct skel_lines more = {.size = s->size == 0 ? FIRST : 2 * s->size, .words = s->words};
    more.slots = calloc(more.size * (1 + s->words), sizeof *more.slots);
    if (more.slots == NULL)
        return false;
    for (size_t i = 0; i < s->size; i++) {
        const uint64_t *from = slot_at(s, i);
        if (from[0] == 0)
            continue;
        uint64_t *to = find(&more, from[0] - 1);
        to[0] = from[0];
        copy_mask(to + 1, from + 1, s->words);
    }
    free(s->slots);
    s->slots = more.slots;
    s->size = more.size;
    return true;
}

uint64_t *skel_lines_add(struct skel_lines *s, uint64_t line)
{
    if (2 * s->count >= s->size && !grow(s))
        return NULL;
    uint64_t *slot = find(s, line);
    s->count += slot[0] == 0;
    slot[0] = line + 1;
    return slot + 1;
}

bool skel_lines_join(struct skel_lines *s, const struct skel_lines *other)
{
    for (size_t i = 0; i < other->size; i++) {
        const uint64_t *from = slot_at(other, i);
        if (from[0] == 0)
            continue;
        uint64_t *mask = skel_lines_add(s, from[0] - 1);
        if (mask == NULL)
            return false;
        copy_mask(mask, from + 1, s->words);
    }
    return true;
}

bool skel_lines_count(const struct skel_lines *s, const struct skel_grain *g,
                      struct skel_footprint *out)
{
    struct skel_lines pages = {.words = 0};
    bool good = true;
    *out = (struct skel_footprint){.lines = s->count};
    for (size_t i = 0; good && i < s->size; i++) {
        const uint64_t *slot = slot_at(s, i);
        if (slot[0] == 0)
            continue;
        for (unsigned k = 1; k <= s->words; k++)
            out->bytes += (uint64_t)__builtin_popcountll(slot[k]);
        good = skel_lines_add(&pages, (slot[0] - 1) >> (g->page_bits - g->line_bits)) != NULL;
    }
    out->pages = pages.count;
    skel_lines_free(&pages);
    return good;
}

void skel_lines_free(struct skel_lines *s)
{
    free(s->slots);
    *s = (struct skel_lines){.words = s->words};
}
