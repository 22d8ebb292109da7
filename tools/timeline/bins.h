/* SPDX-License-Identifier: BSD-3-Clause
 * Items as bins of one width: in each the value that has most of its time, how much of the bin that is, and how much all values are. Nothing
 * short is lost: it fills its bin a little. Of tools/timeline alone. */
#ifndef REGTRACE_TOOLS_TIMELINE_BINS_H
#define REGTRACE_TOOLS_TIMELINE_BINS_H

#include "tools/timeline/tracks.h"

/* `count` bins that are the same. Shares: of 255, at least 1. Of ticks: how many, up to 255. Of curves (value: the last; count 1): least and
 * most. */
struct bin {
    int64_t first, count;
    int64_t value, least, most;
    uint8_t share, all;
};

struct binner {
    enum lane_kind kind;
    int64_t origin, width; /* ns */
    /* Bins that hold something, in their order; what it returns, where not 0, ends it all. */
    int (*take)(void *context, const struct bin *bin);
    void *context;
    /* Its own: */
    uint64_t *times; /* by value, of the bin `now` */
    uint32_t *touched, touched_count;
    int64_t now;
    struct bin run; /* not yet told; count 0: none */
};

/* values: how many there are. 0 or -ENOMEM. */
RT_MUST_CHECK int binner_open(struct binner *b, uint32_t values);
RT_MUST_CHECK int binner_put(struct binner *b, const struct item *item);
/* The last ones are told. */
RT_MUST_CHECK int binner_end(struct binner *b);
void binner_close(struct binner *b);

#endif
