/* SPDX-License-Identifier: BSD-3-Clause
 * Adds up the time that intervals cover. */
#include "tools/waits/covered_time.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>

int covered_time_add(struct covered_time *c, int64_t begin, int64_t end)
{
    void *more = array_grown(c->intervals, c->count, &c->room, sizeof *c->intervals);
    if (more == NULL)
        return -ENOMEM;
    c->intervals = more;
    c->intervals[c->count++] = (struct interval){begin, end};
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

int64_t covered_time_sum(struct covered_time *c)
{
    int64_t sum = 0, until = INT64_MIN;
    if (c->count > 0)
        qsort(c->intervals, c->count, sizeof *c->intervals, by_begin);
    for (size_t i = 0; i < c->count; i++) {
        const struct interval *x = &c->intervals[i];
        int64_t from = x->begin > until ? x->begin : until;
        sum += x->end > from ? x->end - from : 0;
        until = x->end > until ? x->end : until;
    }
    return sum;
}

void covered_time_free(struct covered_time *c)
{
    free(c->intervals);
    *c = (struct covered_time){0};
}
