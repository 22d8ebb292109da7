/* SPDX-License-Identifier: BSD-3-Clause
 * Reuse distances: how many other lines have been touched since a line was last touched. They are
 * exact, as by a stack of lines in the order of their last touches (Mattson et al., 1970). Time is
 * a sequence of moments. Each line has a mark at the moment of its last touch; its distance is the
 * number of later marks. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_REUSE_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_REUSE_H

#include "tools/memory/stats/footprint.h"

/* Moments in a block. When all moments of a block have passed, the tree gets the number of its
 * marks. */
enum { SKEL_REUSE_BLOCK = 512, SKEL_REUSE_WORDS = SKEL_REUSE_BLOCK / 64 };

/* Distances are counted by powers of two: 0, 1, 2 and 3, 4 to 7 ... A cache of 2^n lines that
 * evicts the least recently used one hits the touches of counts 0 to n. */
enum { SKEL_REUSE_COUNTS = 34 };

struct skel_reuse {
    const struct skel_grain *grain;
    uint64_t *lines; /* in the order of first touches: line, last touch, mask */
    size_t count, room;
    uint64_t *table; /* hash table: number + 1 in the low half, low half of the line above */
    size_t table_size;
    uint64_t *marks;       /* one bit for each moment */
    uint32_t *blocks;      /* Fenwick tree of marks in each block, from 1 on */
    uint64_t now, moments; /* the next moment; capacity of `marks` */
    size_t newest;         /* number of the line touched last, or SKEL_REUSE_NONE */
    struct skel_lines pages;
};

#define SKEL_REUSE_NONE SIZE_MAX

/* Begins, or begins again, with no line touched. Returns false if there is no memory. */
bool skel_reuse_begin(struct skel_reuse *r, const struct skel_grain *g);
/* Returns the number of a line. If the line has not been touched before, touches it and sets
 * *is_new. Returns SKEL_REUSE_NONE if there is no memory. */
size_t skel_reuse_find(struct skel_reuse *r, uint64_t line, bool *is_new);
/* Renumbers the moments when they run out. Returns false if there is no memory. */
bool skel_reuse_renumber(struct skel_reuse *r);
/* Adds a block to the tree when its last moment has passed. */
void skel_reuse_pass(struct skel_reuse *r);
/* Counts bytes, lines and pages touched since skel_reuse_begin(). */
void skel_reuse_footprint(const struct skel_reuse *r, struct skel_footprint *out);
void skel_reuse_free(struct skel_reuse *r);

static inline uint64_t *skel_reuse_line(const struct skel_reuse *r, size_t number)
{
    return r->lines + number * (2 + r->grain->words);
}

static inline uint64_t *skel_reuse_mask(const struct skel_reuse *r, size_t number)
{
    return skel_reuse_line(r, number) + 2;
}

/* Marks a line at the present moment, and goes to the next one. Returns false if there is no
 * memory. */
static inline bool skel_reuse_mark(struct skel_reuse *r, size_t number)
{
    if (__builtin_expect(r->now == r->moments, 0) && !skel_reuse_renumber(r))
        return false;
    skel_reuse_line(r, number)[1] = r->now;
    r->marks[r->now / 64] |= UINT64_C(1) << r->now % 64;
    r->newest = number;
    if (__builtin_expect(++r->now % SKEL_REUSE_BLOCK == 0, 0))
        skel_reuse_pass(r);
    return true;
}

/* Returns the number of marks after that moment: in the rest of its block, and in later blocks. */
static inline __attribute__((always_inline)) uint64_t skel_reuse_after(const struct skel_reuse *r,
                                                                       uint64_t moment)
{
    uint64_t word = moment / 64, end = (word | (SKEL_REUSE_WORDS - 1)) + 1,
             last = (r->now - 1) / 64 + 1, near = last - end <= SKEL_REUSE_WORDS ? last : end;
    uint64_t n = (uint64_t)__builtin_popcountll(r->marks[word] >> moment % 64) - 1;
    if (end > last)
        end = near = last;
    for (uint64_t k = word + 1; k < near; k++)
        n += (uint64_t)__builtin_popcountll(r->marks[k]);
    if (near == last)
        return n;
    n += r->count;
    for (uint64_t k = end / SKEL_REUSE_WORDS; k > 0; k &= k - 1)
        n -= r->blocks[k];
    return n;
}

/* Touches a line that has been touched before. Returns its distance, or UINT64_MAX if there is no
 * memory. */
static inline __attribute__((always_inline)) uint64_t skel_reuse_touch(struct skel_reuse *r,
                                                                       size_t number)
{
    if (number == r->newest)
        return 0;
    uint64_t moment = skel_reuse_line(r, number)[1], n = skel_reuse_after(r, moment);
    uint64_t block = moment / SKEL_REUSE_BLOCK, passed = r->now / SKEL_REUSE_BLOCK;
    r->marks[moment / 64] &= ~(UINT64_C(1) << moment % 64);
    if (block < passed)
        for (uint64_t k = block + 1; k <= r->moments / SKEL_REUSE_BLOCK; k += k & -k)
            r->blocks[k]--;
    return skel_reuse_mark(r, number) ? n : UINT64_MAX;
}

static inline unsigned skel_reuse_bucket(uint64_t distance)
{
    unsigned n = distance == 0 ? 0 : 64 - (unsigned)__builtin_clzll(distance);
    return n < SKEL_REUSE_COUNTS ? n : SKEL_REUSE_COUNTS - 1;
}

#endif
