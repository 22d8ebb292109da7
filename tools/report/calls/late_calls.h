/* SPDX-License-Identifier: BSD-3-Clause
 * Calls that came late, by rank, function and call path, and what other ranks waited for them. */
#ifndef REGTRACE_TOOLS_REPORT_CALLS_LATE_CALLS_H
#define REGTRACE_TOOLS_REPORT_CALLS_LATE_CALLS_H

#include "base/toolkit/key_table.h"
#include "tools/json.h"
#include "tools/waits/wait_states.h"
#include "tools/report/calls/longest_wait.h"

struct late_call {
    int32_t rank; /* in MPI_COMM_WORLD */
    enum wait_kind kind;
    uint32_t function; /* EVENT_MPI_FUNCTIONS_MOST: unknown */
    uint32_t node;     /* its call path, of the report's call tree; KEY_NONE: unknown */
    uint64_t waits;    /* of other ranks */
    double cost_ns;    /* how long they waited together */
    struct longest_wait longest;
};

/* Zero-initialize before use; free with late_calls_free(). */
struct late_calls {
    struct key_table keys;
    struct late_call *rows;
    size_t room;
};

/* Adds a wait for a call from this node. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int late_calls_add(struct late_calls *l, const struct wait_state *x, uint32_t node);
void late_calls_free(struct late_calls *l);

struct report;
/* Writes a member "late_calls". */
void late_calls_json(struct json *j, struct report *r, const struct late_calls *l);

#endif
