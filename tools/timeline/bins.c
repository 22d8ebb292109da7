/* SPDX-License-Identifier: BSD-3-Clause
 * Sums up items in bins of one width. */
#include "tools/timeline/bins.h"

#include <errno.h>
#include <stdlib.h>

int binner_open(struct binner *b, uint32_t values)
{
    b->times = calloc(values + 1u, sizeof *b->times);
    b->touched = calloc(values + 1u, sizeof *b->touched);
    b->touched_count = 0;
    b->now = -1;
    b->run = (struct bin){.count = 0};
    return b->times != NULL && b->touched != NULL ? 0 : -ENOMEM;
}

void binner_close(struct binner *b)
{
    free(b->times);
    free(b->touched);
}

static int tell_run(struct binner *b)
{
    int rc = b->run.count != 0 ? b->take(b->context, &b->run) : 0;
    b->run.count = 0;
    return rc;
}

/* Adds a bin; joins it with the bins before if all are full and have the same value. */
static int add_bin(struct binner *b, struct bin bin)
{
    if (b->run.count != 0 && b->run.share == 255 && bin.share == 255 && b->kind != LANE_TICKS &&
        b->run.value == bin.value && b->run.first + b->run.count == bin.first) {
        b->run.count += bin.count;
        return 0;
    }
    int rc = tell_run(b);
    b->run = bin;
    return rc;
}

static uint8_t share_of(const struct binner *b, uint64_t time)
{
    uint64_t width = b->kind == LANE_TICKS ? 255 : (uint64_t)b->width;
    uint64_t share = time >= width ? 255 : time * 255 / width;
    return (uint8_t)(share == 0 ? 1 : share);
}

/* Completes the bin `now`. */
static int end_bin(struct binner *b)
{
    uint64_t all = 0, most = 0;
    uint32_t value = 0;
    if (b->touched_count == 0)
        return 0;
    for (uint32_t i = 0; i < b->touched_count; i++) {
        uint32_t v = b->touched[i];
        uint64_t time = b->times[v];
        all += time;
        if (time > most || (time == most && v < value)) {
            most = time;
            value = v;
        }
        b->times[v] = 0;
    }
    b->touched_count = 0;
    return add_bin(b, (struct bin){.first = b->now,
                                   .count = 1,
                                   .value = value,
                                   .share = share_of(b, most),
                                   .all = share_of(b, all)});
}

static int add_time(struct binner *b, int64_t bin, uint32_t value, uint64_t time)
{
    int rc = bin != b->now ? end_bin(b) : 0;
    b->now = bin;
    if (b->times[value] == 0)
        b->touched[b->touched_count++] = value;
    b->times[value] += time == 0 ? 1 : time;
    return rc;
}

static int add_point(struct binner *b, int64_t bin, int64_t value)
{
    if (b->run.count != 0 && b->run.first == bin) {
        b->run.value = value;
        b->run.least = value < b->run.least ? value : b->run.least;
        b->run.most = value > b->run.most ? value : b->run.most;
        return 0;
    }
    int rc = tell_run(b);
    b->run = (struct bin){bin, 1, value, value, value, 0, 0};
    return rc;
}

int binner_put(struct binner *b, const struct item *item)
{
    int64_t start = item->start - b->origin, end = item->end - b->origin;
    int64_t first = start / b->width, last = end > start ? (end - 1) / b->width : first;
    if (b->kind == LANE_CURVE)
        return add_point(b, first, item->value);
    uint32_t value = (uint32_t)item->value;
    if (first == last)
        return add_time(b, first, value, (uint64_t)(end - start));
    int rc = add_time(b, first, value, (uint64_t)((first + 1) * b->width - start));
    if (rc == 0 && last > first + 1) {
        rc = end_bin(b);
        b->now = -1;
        if (rc == 0)
            rc = add_bin(b, (struct bin){.first = first + 1,
                                         .count = last - first - 1,
                                         .value = value,
                                         .share = 255,
                                         .all = 255});
    }
    return rc == 0 ? add_time(b, last, value, (uint64_t)(end - last * b->width)) : rc;
}

int binner_end(struct binner *b)
{
    int rc = end_bin(b);
    return rc == 0 ? tell_run(b) : rc;
}
