/* SPDX-License-Identifier: BSD-3-Clause
 * The time that at least one of many intervals covers. */
#ifndef REGTRACE_TOOLS_WAITS_COVERED_TIME_H
#define REGTRACE_TOOLS_WAITS_COVERED_TIME_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t begin, end;
};

/* Zero-initialize; free with covered_time_free(). */
struct covered_time {
    struct interval *intervals;
    size_t count, room;
};

/* Adds an interval. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int covered_time_add(struct covered_time *c, int64_t begin, int64_t end);
/* Returns the sum, and sorts the intervals. */
int64_t covered_time_sum(struct covered_time *c);
void covered_time_free(struct covered_time *c);

#endif
