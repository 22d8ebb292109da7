/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the longest of some waits. */
#include "tools/report/calls/longest_wait.h"

void longest_wait_take(struct longest_wait *l, const struct wait_state *x)
{
    if ((double)x->ns > l->ns)
        *l = (struct longest_wait){.ns = (double)x->ns,
                                   .begin_ns = x->begin_ns,
                                   .rank = x->rank,
                                   .for_rank = x->for_rank,
                                   .window = x->window};
}

void longest_wait_json(struct json *j, const struct longest_wait *l, int64_t origin_ns)
{
    json_real(j, "longest_ns", l->ns);
    if (l->ns > 0) {
        json_int(j, "longest_begin_ns", l->begin_ns - origin_ns);
        json_int(j, "longest_window", l->window);
    } else {
        json_null(j, "longest_begin_ns");
        json_null(j, "longest_window");
    }
}
