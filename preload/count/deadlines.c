/* SPDX-License-Identifier: BSD-3-Clause
 * A thread's deadlines in a heap (deadlines.h), because a file of regions makes thousands of them,
 * and each edge should touch only a few. */
#include "preload/count/deadlines.h"

size_t deadlines_size(uint32_t chains)
{
    size_t places = (chains * sizeof(uint16_t) + 7) / 8 * 8;
    return chains * sizeof(struct deadline) + places;
}

void deadlines_init(struct deadlines *d, void *memory, uint32_t chains)
{
    *d = (struct deadlines){.room = chains, .heap = memory};
    d->place = (void *)(d->heap + chains);
}

static bool is_before(const struct deadline *a, const struct deadline *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    return a->closes != b->closes ? a->closes : a->alarm < b->alarm;
}

static void set(struct deadlines *d, uint32_t i, const struct deadline *one)
{
    d->heap[i] = *one;
    d->place[one->chain] = (uint16_t)(i + 1);
}

/* Puts a deadline into the heap, whose entry i is free: towards the first entry, else away from
 * it. */
static void settle(struct deadlines *d, uint32_t i, const struct deadline *one)
{
    while (i > 0 && is_before(one, &d->heap[(i - 1) / 2])) {
        set(d, i, &d->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child + 1 < d->count && is_before(&d->heap[child + 1], &d->heap[child]))
            child++;
        if (child >= d->count || !is_before(&d->heap[child], one))
            break;
        set(d, i, &d->heap[child]);
        i = child;
    }
    set(d, i, one);
}

void deadlines_put(struct deadlines *d, const struct deadline *one)
{
    const struct deadline copy = *one;
    (void)deadlines_take(d, copy.chain, NULL);
    d->globals += copy.global;
    d->count++;
    settle(d, d->count - 1, &copy);
}

bool deadlines_take(struct deadlines *d, uint16_t chain, struct deadline *out)
{
    uint32_t i = chain < d->room ? d->place[chain] : 0;
    if (i-- == 0)
        return false;
    if (out != NULL)
        *out = d->heap[i];
    d->globals -= d->heap[i].global;
    d->place[chain] = 0;
    d->count--;
    if (i < d->count) {
        const struct deadline last = d->heap[d->count];
        settle(d, i, &last);
    }
    return true;
}

void deadlines_clear(struct deadlines *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        d->place[d->heap[i].chain] = 0;
    d->count = d->globals = 0;
}

const struct deadline *deadlines_first(const struct deadlines *d)
{
    return d->count != 0 ? &d->heap[0] : NULL;
}

const struct deadline *deadlines_of(const struct deadlines *d, uint16_t chain)
{
    return chain < d->room && d->place[chain] != 0 ? &d->heap[d->place[chain] - 1] : NULL;
}

/* Is any deadline at this count exact? Those of one count are neighbours of the first entry, so the
 * recursion is no deeper than the heap. */
static bool any_exact(const struct deadlines *d, uint32_t i, uint64_t at)
{
    if (i >= d->count || d->heap[i].at != at)
        return false;
    return d->heap[i].exact || any_exact(d, 2 * i + 1, at) || any_exact(d, 2 * i + 2, at);
}

bool deadlines_first_is_exact(const struct deadlines *d)
{
    return d->count != 0 && any_exact(d, 0, d->heap[0].at);
}
