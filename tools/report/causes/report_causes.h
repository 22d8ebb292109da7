/* SPDX-License-Identifier: BSD-3-Clause
 * Why ranks wait, and which activities decide how long the run takes: delays and critical path. */
#ifndef REGTRACE_TOOLS_REPORT_CAUSES_REPORT_CAUSES_H
#define REGTRACE_TOOLS_REPORT_CAUSES_REPORT_CAUSES_H

#include "tools/causes/critical_path.h"
#include "tools/causes/delays.h"
#include "tools/json.h"
#include "tools/report/causes/place_names.h"

struct report_causes {
    struct history *history; /* NULL: not opened */
    struct delays delays;
    struct critical_path path;
};

/* Opens the history; names, streams and comms must outlive it. Zero-initialize before use. Returns
 * 0 or -ENOMEM. */
RT_MUST_CHECK int report_causes_open(struct report_causes *c, const struct streams *streams,
                                     struct place_names *names);
/* Finds delays and critical path after the last record and wait. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int report_causes_find(struct report_causes *c, const struct report *r);
void report_causes_free(struct report_causes *c);

/* Prints an activity: "from MPI_Recv in main, a.c:9 to MPI_Send in work, a.c:30". */
void report_activity_print(FILE *out, struct report *r, const struct report_causes *c,
                           const struct place_names *names, uint32_t activity);
/* Writes the members "kind", "function" and so on. */
void report_activity_json(struct json *j, struct report *r, const struct report_causes *c,
                          const struct place_names *names, uint32_t activity);

/* Writes the members "longest_ns", "longest_begin_ns" (ns since origin_ns), "longest_rank" and
 * "longest_window"; all but the first are null if it never mattered. */
void report_moment_json(struct json *j, const struct past_moment *m, int64_t origin_ns);

/* --- report_delays.c -------------------------------------------------------------------------- */

/* Returns the costs of all delays together: the time of all waits. */
double report_delays_total(const struct delays *d);
/* Prints those that cost most (top 0: all); nothing if nobody waited. */
void report_delays_print(FILE *out, struct report *r, const struct report_causes *c,
                         const struct place_names *names, size_t top);
/* Writes the members "delays" and "delays_unknown_ns". */
void report_delays_json(struct json *j, struct report *r, const struct report_causes *c,
                        const struct place_names *names);

/* --- report_critical_path.c ------------------------------------------------------------------- */

/* Prints one line with the length and the rank that has most of it. */
void report_critical_path_summary(FILE *out, const struct report_causes *c);
/* Prints activities, ranks and windows. top: activities shown, 0: all. */
void report_critical_path_print(FILE *out, struct report *r, const struct report_causes *c,
                                const struct place_names *names, size_t top, bool all);
/* Writes a member "critical_path". */
void report_critical_path_json(struct json *j, struct report *r, const struct report_causes *c,
                               const struct place_names *names);

#endif
