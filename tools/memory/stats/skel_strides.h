/* SPDX-License-Identifier: BSD-3-Clause
 * Counts the strides of an instruction: distances from each address that it accesses to the
 * next. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_STRIDES_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_STRIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct skel_stride {
    int64_t bytes;
    uint64_t times; /* 0: none */
};

/* Initially all zero. Counts each different stride, up to a limit; beyond it, drops the rarest from
 * time to time. */
struct skel_strides {
    struct skel_stride *slots;
    size_t size, count;
    /* total: strides added. lost: those whose counts were dropped; if not 0, other counts may be
     * too low. */
    uint64_t total, lost;
};

/* Adds a stride that occurred so many times. Returns false if there is no memory. */
bool skel_strides_add(struct skel_strides *s, int64_t bytes, uint64_t times);
/* Adds the strides of another instruction or recording. Returns false if there is no memory. */
bool skel_strides_join(struct skel_strides *s, const struct skel_strides *other);
/* Writes up to `most` strides to `top`, the most frequent first; of equally frequent ones the
 * shortest first. Returns how many. */
size_t skel_strides_top(const struct skel_strides *s, struct skel_stride *top, size_t most);
void skel_strides_free(struct skel_strides *s);

#endif
