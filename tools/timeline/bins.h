/* SPDX-License-Identifier: BSD-3-Clause
 * Sums up items in bins of one width. A bin has the value that takes most of its time, that value's
 * share of the bin, and the share of all values. Short items are not lost: they fill a small part
 * of their bin. For tools/timeline only. */
#ifndef REGTRACE_TOOLS_TIMELINE_BINS_H
#define REGTRACE_TOOLS_TIMELINE_BINS_H

#include "tools/timeline/tracks.h"

/* `count` equal bins, from number `first` on.
 *
 * - Boxes: shares are parts of 255, at least 1: `share` of the value, `all` of all values.
 * - Ticks: both are counts, up to 255.
 * - Curves: value is the last one, with the least and the most; count is 1. */
struct bin {
    int64_t first, count;
    int64_t value, least, most;
    uint8_t share, all;
};

struct binner {
    enum lane_kind kind;
    int64_t origin, width; /* ns */
    /* Takes the bins that hold something, in order. A result other than 0 is returned by
     * binner_put() and binner_end(). */
    int (*take)(void *context, const struct bin *bin);
    void *context;
    /* Private to bins.c: */
    uint64_t *times; /* by value: its time in the bin `now` */
    uint32_t *touched, touched_count;
    int64_t now;
    struct bin run; /* not yet given to take(); count 0: none */
};

/* values: the number of different values. Returns 0 or -ENOMEM; call binner_close() in both
 * cases. */
RT_MUST_CHECK int binner_open(struct binner *b, uint32_t values);
/* Adds an item, in the order of time. Returns 0 or what take() returned. */
RT_MUST_CHECK int binner_put(struct binner *b, const struct item *item);
/* Gives the last bins to take(). */
RT_MUST_CHECK int binner_end(struct binner *b);
void binner_close(struct binner *b);

#endif
