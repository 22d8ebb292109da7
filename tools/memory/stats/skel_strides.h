/* SPDX-License-Identifier: BSD-3-Clause
 * Strides of an instruction: from each address that it accesses to the next. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_STRIDES_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_STRIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct skel_stride {
    int64_t bytes;
    uint64_t times; /* 0: none */
};

/* All zero at first. Different ones are counted, up to a number; where there are more, the rarest are given up again and again. */
struct skel_strides {
    struct skel_stride *slots;
    size_t size, count;
    uint64_t total,
        lost; /* all; those of strides that were given up, of which others may be too few */
};

/* False: there is no memory. */
bool skel_strides_add(struct skel_strides *s, int64_t bytes, uint64_t times);
/* Those of another instruction, or of the same elsewhere. Likewise. */
bool skel_strides_join(struct skel_strides *s, const struct skel_strides *other);
/* The most frequent ones, most of them first; equally frequent ones the nearest first. How many. */
size_t skel_strides_top(const struct skel_strides *s, struct skel_stride *top, size_t most);
void skel_strides_free(struct skel_strides *s);

#endif
