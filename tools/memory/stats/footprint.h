/* SPDX-License-Identifier: BSD-3-Clause
 * The set of accessed bytes of memory: a set of lines, with a mask of the bytes of each. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_FOOTPRINT_H
#define REGTRACE_TOOLS_MEMORY_STATS_FOOTPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes of lines and pages: 2^bits bytes. Pages are no smaller than lines. */
struct skel_grain {
    unsigned line_bits, page_bits;
    unsigned words; /* 64-bit words of a mask of a line's bytes */
};

struct skel_footprint {
    uint64_t bytes, lines, pages;
};

/* Initially all zero, except for `words`. words 0: a set of lines without masks. */
struct skel_lines {
    uint64_t *slots; /* line + 1 (0: free), then its mask */
    size_t size, count;
    unsigned words;
};

/* Returns the slot at which the search for a line begins. Eight consecutive lines have adjacent
 * slots, since programs access them together. The search continues in steps of SKEL_LINES_STEP:
 * with steps of 1, a group of eight would often find all eight slots taken, and those after them
 * too. */
enum { SKEL_LINES_STEP = 9 };
static inline size_t skel_lines_place(uint64_t line, size_t size)
{
    uint64_t x = (line >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(x >> 29 << 3 | (line & 7)) & (size - 1);
}

/* Adds a line. Returns its mask, zeros if the line is new; the pointer is valid until the next
 * call. Returns NULL if there is no memory. */
uint64_t *skel_lines_add(struct skel_lines *s, uint64_t line);
/* Adds all lines and bytes of another set with the same `words`. Returns false if there is no
 * memory. */
bool skel_lines_join(struct skel_lines *s, const struct skel_lines *other);
/* Counts bytes, lines and pages of the set. Returns false if there is no memory. */
bool skel_lines_count(const struct skel_lines *s, const struct skel_grain *g,
                      struct skel_footprint *out);
void skel_lines_free(struct skel_lines *s);

#endif
