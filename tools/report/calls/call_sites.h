/* SPDX-License-Identifier: BSD-3-Clause
 * MPI calls of a run by function and call site, all ranks together. */
#ifndef REGTRACE_TOOLS_REPORT_CALLS_CALL_SITES_H
#define REGTRACE_TOOLS_REPORT_CALLS_CALL_SITES_H

#include "base/toolkit/key_table.h"
#include "tools/addresses.h"
#include "tools/json.h"

/* Outermost calls of one function from one place. */
struct call_site {
    uint32_t function, item; /* item: of the addresses; KEY_NONE: unknown */
    uint64_t calls, bytes, waits;
    double time_ns, waited_ns; /* waited_ns: for other ranks */
    double most_ns;            /* time of the rank that spent most here, */
    int32_t most_rank;         /* its number */
    double rank_ns;            /* of the rank that called here last */
    int32_t rank;
};

/* Zero-initialize before use; free with call_sites_free(). */
struct call_sites {
    struct key_table keys; /* high: function, low: item */
    struct call_site *rows;
    size_t room;
    bool known; /* some call has a call site */
};

/* Returns the row of a call path of this rank file; NULL: 0, or it is not there. */
const struct rt_path *call_path_find(const struct rt_rank *rank, uint32_t path);
/* Finds or creates the item of a path's own place, or that of callers that are not known. Returns 0
 * or -ENOMEM. */
RT_MUST_CHECK int call_sites_place(struct addresses *a, const struct rt_rank *rank,
                                   const struct rt_path *p, uint32_t *item);
/* Adds calls of a rank, with their times and bytes. Ranks come one after the other. Returns 0 or
 * -ENOMEM. */
RT_MUST_CHECK int call_sites_add_calls(struct call_sites *s, int32_t rank, uint32_t function,
                                       uint32_t item, uint64_t calls, double ns, uint64_t bytes);
/* Adds a wait in a call that has been added. */
void call_sites_add_wait(struct call_sites *s, uint32_t function, uint32_t item, double ns);
void call_sites_free(struct call_sites *s);

/* Prints "FUNCTION, FILE:LINE", or as much of it as is known. */
void call_site_print(FILE *out, struct addresses *a, uint32_t item);
/* Writes the members "caller", "line", "image" and "return_offset". */
void call_site_json(struct json *j, struct addresses *a, uint32_t item);

struct report;
/* Prints those with most time; nothing if no call site is known. top 0: all. */
void call_sites_print(FILE *out, struct report *r, size_t top);
/* Writes a member "call_sites". */
void call_sites_json(struct json *j, struct report *r);

#endif
