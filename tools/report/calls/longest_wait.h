/* SPDX-License-Identifier: BSD-3-Clause
 * The longest of some waits: where a reader of the report looks first. */
#ifndef REGTRACE_TOOLS_REPORT_CALLS_LONGEST_WAIT_H
#define REGTRACE_TOOLS_REPORT_CALLS_LONGEST_WAIT_H

#include "tools/json.h"
#include "tools/waits/wait_states.h"

/* Zero-initialize before use. ns 0: nobody waited. */
struct longest_wait {
    double ns;
    int64_t begin_ns;       /* as in streams.h */
    int32_t rank, for_rank; /* ranks in MPI_COMM_WORLD */
    int32_t window;         /* of the rank that waited */
};

void longest_wait_take(struct longest_wait *l, const struct wait_state *x);
/* Writes the members "longest_ns", "longest_begin_ns" (ns since origin_ns) and "longest_window";
 * the last two are null if nobody waited. */
void longest_wait_json(struct json *j, const struct longest_wait *l, int64_t origin_ns);

#endif
