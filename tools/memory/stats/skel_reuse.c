/* SPDX-License-Identifier: BSD-3-Clause
 * Computes exact reuse distances with marks on a time line and a tree of their numbers. */
#include "tools/memory/stats/skel_reuse.h"

#include <stdlib.h>
#include <string.h>

enum { MOMENTS = 8192, TABLE = 1024, ROOM = 64 };

static size_t line_bytes(const struct skel_reuse *r)
{
    return (2 + r->grain->words) * sizeof *r->lines;
}

static bool make_moments(struct skel_reuse *r, uint64_t moments)
{
    r->moments = moments;
    r->marks = calloc(moments / 64, sizeof *r->marks);
    r->blocks = calloc(moments / SKEL_REUSE_BLOCK + 1, sizeof *r->blocks);
    return r->marks != NULL && r->blocks != NULL;
}

/* Replaces tables that have grown: from now on, small ones may do. */
bool skel_reuse_begin(struct skel_reuse *r, const struct skel_grain *g)
{
    if (r->table_size != TABLE || r->moments != MOMENTS) {
        skel_reuse_free(r);
        *r = (struct skel_reuse){.room = ROOM, .table_size = TABLE, .grain = g};
        r->table = calloc(TABLE, sizeof *r->table);
        r->lines = malloc(ROOM * line_bytes(r));
        if (r->table == NULL || r->lines == NULL || !make_moments(r, MOMENTS))
            return false;
    } else {
        memset(r->table, 0, TABLE * sizeof *r->table);
        memset(r->marks, 0, MOMENTS / 64 * sizeof *r->marks);
        memset(r->blocks, 0, (MOMENTS / SKEL_REUSE_BLOCK + 1) * sizeof *r->blocks);
        skel_lines_free(&r->pages);
    }
    r->count = 0;
    r->now = 0;
    r->newest = SKEL_REUSE_NONE;
    return true;
}

void skel_reuse_free(struct skel_reuse *r)
{
    free(r->lines);
    free(r->table);
    free(r->marks);
    free(r->blocks);
    skel_lines_free(&r->pages);
    *r = (struct skel_reuse){.grain = r->grain};
}

/* --- lines ------------------------------------------------------------------------------------ */

static size_t number_in(const struct skel_reuse *r, size_t slot)
{
    return (size_t)(uint32_t)r->table[slot] - 1;
}

static size_t slot_of(const struct skel_reuse *r, uint64_t line)
{
    size_t i = skel_lines_place(line, r->table_size);
    while (r->table[i] != 0 &&
           (r->table[i] >> 32 != (uint32_t)line || skel_reuse_line(r, number_in(r, i))[0] != line))
        i = (i + SKEL_LINES_STEP) & (r->table_size - 1);
    return i;
}

static void set_slot(struct skel_reuse *r, size_t slot, size_t number)
{
    r->table[slot] = skel_reuse_line(r, number)[0] << 32 | (number + 1);
}

static bool grow_table(struct skel_reuse *r)
{
    uint64_t *table = calloc(2 * r->table_size, sizeof *table);
    if (table == NULL)
        return false;
    free(r->table);
    r->table = table;
    r->table_size *= 2;
    for (size_t n = 0; n < r->count; n++)
        set_slot(r, slot_of(r, skel_reuse_line(r, n)[0]), n);
    return true;
}

static bool grow_lines(struct skel_reuse *r)
{
    uint64_t *more =
        r->room < UINT32_MAX / 2 ? realloc(r->lines, 2 * r->room * line_bytes(r)) : NULL;
    if (more == NULL)
        return false;
    r->lines = more;
    r->room *= 2;
    return true;
}

size_t skel_reuse_find(struct skel_reuse *r, uint64_t line, bool *is_new)
{
    size_t slot = slot_of(r, line);
    *is_new = r->table[slot] == 0;
    if (!*is_new)
        return number_in(r, slot);
    if (r->count == r->room && !grow_lines(r))
        return SKEL_REUSE_NONE;
    if (2 * r->count >= r->table_size) {
        if (!grow_table(r))
            return SKEL_REUSE_NONE;
        slot = slot_of(r, line);
    }
    uint64_t page = line >> (r->grain->page_bits - r->grain->line_bits);
    if (skel_lines_add(&r->pages, page) == NULL)
        return SKEL_REUSE_NONE;
    size_t number = r->count;
    memset(skel_reuse_line(r, number), 0, line_bytes(r));
    skel_reuse_line(r, number)[0] = line;
    set_slot(r, slot, r->count++);
    return skel_reuse_mark(r, number) ? number : SKEL_REUSE_NONE;
}

void skel_reuse_footprint(const struct skel_reuse *r, struct skel_footprint *out)
{
    *out = (struct skel_footprint){.lines = r->count, .pages = r->pages.count};
    for (size_t n = 0; n < r->count; n++)
        for (unsigned k = 0; k < r->grain->words; k++)
            out->bytes += (uint64_t)__builtin_popcountll(skel_reuse_mask(r, n)[k]);
}

/* --- moments ---------------------------------------------------------------------------------- */

static uint32_t marks_of(const struct skel_reuse *r, uint64_t block)
{
    uint32_t n = 0;
    for (uint64_t k = block * SKEL_REUSE_WORDS; k < (block + 1) * SKEL_REUSE_WORDS; k++)
        n += (uint32_t)__builtin_popcountll(r->marks[k]);
    return n;
}

void skel_reuse_pass(struct skel_reuse *r)
{
    uint64_t block = r->now / SKEL_REUSE_BLOCK - 1;
    uint32_t n = marks_of(r, block);
    for (uint64_t k = block + 1; k <= r->moments / SKEL_REUSE_BLOCK; k += k & -k)
        r->blocks[k] += n;
}

/* Returns the number of marks before each word of r->marks; the caller frees it. */
static uint64_t *count_before(const struct skel_reuse *r, uint64_t *marks)
{
    uint64_t *before = malloc(r->moments / 64 * sizeof *before);
    *marks = 0;
    for (uint64_t k = 0; before != NULL && k < r->moments / 64; k++) {
        before[k] = *marks;
        *marks += (uint64_t)__builtin_popcountll(r->marks[k]);
    }
    return before;
}

/* Renumbers marked moments in the same order, without gaps. At least half of the moments pass
 * before the next call, so the cost for each moment is bounded. */
bool skel_reuse_renumber(struct skel_reuse *r)
{
    uint64_t marks, *before = count_before(r, &marks), *old = r->marks;
    if (before == NULL)
        return false;
    for (size_t n = 0; n < r->count; n++) {
        uint64_t *moment = &skel_reuse_line(r, n)[1], word = *moment / 64;
        *moment = before[word] +
                  (uint64_t)__builtin_popcountll(old[word] & ((UINT64_C(1) << *moment % 64) - 1));
    }
    free(before);
    free(old);
    free(r->blocks);
    if (!make_moments(r, 2 * marks > r->moments ? 2 * r->moments : r->moments))
        return false;
    for (r->now = 0; r->now < marks;) {
        r->marks[r->now / 64] |= UINT64_C(1) << r->now % 64;
        if (++r->now % SKEL_REUSE_BLOCK == 0)
            skel_reuse_pass(r);
    }
    return true;
}
