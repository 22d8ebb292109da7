/* SPDX-License-Identifier: BSD-3-Clause
 * Which bytes of memory have been accessed: a set of lines, with a mask of the bytes of each. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_LINES_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How memory is divided: lines and pages of 2^bits bytes, pages no smaller than lines. */
struct skel_grain {
    unsigned line_bits, page_bits;
    unsigned words; /* of 64 bits, for a mask of a line's bytes */
};

struct skel_footprint {
    uint64_t bytes, lines, pages;
};

/* All zero at first but for `words`; 0 of them: lines alone. */
struct skel_lines {
    uint64_t *slots; /* line + 1, 0: free; then its mask */
    size_t size, count;
    unsigned words;
};

/* Where the slot of a line is looked for first: eight lines in a row stand side by side, since programs access them so. Then each ninth on from there: eight that are
 * side by side would often find all eight places taken, and those after them too. */
enum { SKEL_LINES_STEP = 9 };
static inline size_t skel_lines_place(uint64_t line, size_t size)
{
    uint64_t x = (line >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(x >> 29 << 3 | (line & 7)) & (size - 1);
}

/* The line's mask, zeros if it is new, until the next one is added. NULL: there is no memory. */
uint64_t *skel_lines_add(struct skel_lines *s, uint64_t line);
/* All of another set with as many words too. False: there is no memory. */
bool skel_lines_join(struct skel_lines *s, const struct skel_lines *other);
/* Likewise. */
bool skel_lines_count(const struct skel_lines *s, const struct skel_grain *g,
                      struct skel_footprint *out);
void skel_lines_free(struct skel_lines *s);

#endif
