/* SPDX-License-Identifier: BSD-3-Clause
 * A hash table of strides with open addressing, at most half full. */
#include "tools/memory/stats/skel_strides.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 4, MOST = 4096 };

static struct skel_stride *find(const struct skel_strides *s, int64_t bytes)
{
    uint64_t x = (uint64_t)bytes * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(x ^ x >> 32) & (s->size - 1);
    while (s->slots[i].times != 0 && s->slots[i].bytes != bytes)
        i = (i + 1) & (s->size - 1);
    return &s->slots[i];
}

/* Moves the strides that occurred more than `least` times to a table of that size; drops the
 * others. */
static bool move(struct skel_strides *s, size_t size, uint64_t least)
{
    struct skel_strides more = {.size = size, .total = s->total, .lost = s->lost};
    more.slots = calloc(size, sizeof *more.slots);
    if (more.slots == NULL)
        return false;
    for (size_t i = 0; i < s->size; i++) {
        const struct skel_stride *from = &s->slots[i];
        if (from->times > least) {
            *find(&more, from->bytes) = *from;
            more.count++;
        } else {
            more.lost += from->times;
        }
    }
    free(s->slots);
    *s = more;
    return true;
}

static size_t count_above(const struct skel_strides *s, uint64_t least)
{
    size_t n = 0;
    for (size_t i = 0; i < s->size; i++)
        n += s->slots[i].times > least;
    return n;
}

/* Drops at least half of the strides. */
static bool give_up(struct skel_strides *s)
{
    uint64_t least = 1;
    while (count_above(s, least) > MOST / 2)
        least *= 2;
    return move(s, s->size, least);
}

bool skel_strides_add(struct skel_strides *s, int64_t bytes, uint64_t times)
{
    if (s->size == 0 && !move(s, FIRST, 0))
        return false;
    struct skel_stride *slot = find(s, bytes);
    if (slot->times == 0) {
        if (2 * (s->count + 1) > s->size) {
            if (!(s->count < MOST ? move(s, 2 * s->size, 0) : give_up(s)))
                return false;
            slot = find(s, bytes);
        }
        s->count++;
        slot->bytes = bytes;
    }
    slot->times += times;
    s->total += times;
    return true;
}

bool skel_strides_join(struct skel_strides *s, const struct skel_strides *other)
{
    for (size_t i = 0; i < other->size; i++)
        if (other->slots[i].times != 0 &&
            !skel_strides_add(s, other->slots[i].bytes, other->slots[i].times))
            return false;
    s->total += other->lost;
    s->lost += other->lost;
    return true;
}

static uint64_t size_of(int64_t bytes)
{
    return bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
}

static bool comes_before(const struct skel_stride *a, const struct skel_stride *b)
{
    if (a->times != b->times)
        return a->times > b->times;
    if (size_of(a->bytes) != size_of(b->bytes))
        return size_of(a->bytes) < size_of(b->bytes);
    return a->bytes > b->bytes;
}

size_t skel_strides_top(const struct skel_strides *s, struct skel_stride *top, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < s->size; i++) {
        const struct skel_stride *x = &s->slots[i];
        size_t k = n;
        while (k > 0 && comes_before(x, &top[k - 1]))
            k--;
        if (x->times == 0 || k == most)
            continue;
        n += n < most;
        memmove(&top[k + 1], &top[k], (n - 1 - k) * sizeof *top);
        top[k] = *x;
    }
    return n;
}

void skel_strides_free(struct skel_strides *s)
{
    free(s->slots);
    *s = (struct skel_strides){.slots = NULL};
}
