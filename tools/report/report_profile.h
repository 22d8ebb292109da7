/* SPDX-License-Identifier: BSD-3-Clause
 * The profile of MPI calls in a report: how often and how long each function was called. */
#ifndef REGTRACE_TOOLS_REPORT_REPORT_PROFILE_H
#define REGTRACE_TOOLS_REPORT_REPORT_PROFILE_H

#include "tools/json.h"
#include "writer/writer.h"

#include <stdio.h>

#define REPORT_POWERS 40u /* powers of two ticks, as in /mpi_profile_times */

/* Outermost calls of one MPI function, all ranks together. */
struct report_times {
    uint64_t calls;
    double total_ns, min_ns, max_ns;
    struct {
        uint64_t calls; /* that took less than below_ns, but not less than the power before */
        double below_ns;
    } powers[REPORT_POWERS];
};

/* Zero-initialize before use; free with report_profile_free(). */
struct report_profile {
    struct report_times *functions; /* by function; NULL: no file has a profile */
    uint64_t calls;                 /* outermost ones */
    uint64_t entries;               /* different threads, call paths, functions, communicators */
    uint64_t lost;                  /* calls for which the table had no room */
};

struct report;
struct report_rank;
/* Has the file a profile that the report is to show? Not if the report is of some windows. */
bool report_has_profile(const struct report *r, const struct rt_rank *rank);
/* Replaces the calls that were read from events by those of the profile. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int report_profile_take(struct report *r, struct report_rank *k,
                                      const struct rt_rank *rank);
void report_profile_free(struct report_profile *p);
/* Prints nothing if there is no profile. top 0: all functions. */
void report_profile_print(FILE *out, const struct report *r, size_t top);
/* Writes a member "profile"; null if there is none. */
void report_profile_json(struct json *j, const struct report *r);

#endif
