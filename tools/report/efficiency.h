/* SPDX-License-Identifier: BSD-3-Clause
 * How efficient runs are: `regtrace report --efficiency`. The figures are POP's (Performance
 * Optimisation and Productivity, "POP Standard Metrics for Parallel Performance Analysis"): useful
 * time by processes times elapsed time. Of all windows together, a process has the useful time of
 * all its windows, and time elapses as long as some process is in a window. */
#ifndef REGTRACE_TOOLS_REPORT_EFFICIENCY_H
#define REGTRACE_TOOLS_REPORT_EFFICIENCY_H

#include "tools/json.h"
#include "tools/waits/ideal_times.h"

/* Of one window, or of all windows of a run together. Shares are products: parallel = balance *
 * communication, communication = serialisation * transfer. NAN: not known. */
struct efficiency {
    int32_t ordinal;    /* -1: all windows */
    uint32_t processes; /* with windows */
    double length_ns;   /* from the first opening to the last closing; of all windows: the time in
                         * which some process was in one */
    double useful_ns;   /* outside MPI, of all processes together */
    double most_useful_ns;    /* of the process that has most */
    int32_t most_useful_rank; /* its rank; -1: not known */
    double parallel, balance, communication, serialisation, transfer;
    uint32_t unfinished; /* processes that are left out: they were killed in a window */
    bool has_gaps;       /* events were dropped: times outside MPI are too short */
};

/* One run of the table. */
struct efficiency_run {
    char *dir;
    struct efficiency all;
    struct efficiency *windows;
    size_t window_count, finished; /* finished: no process was killed in them */
    double
        windows_ns;  /* lengths of all windows together: more than that of `all` if they overlap */
    bool do_overlap; /* windows of different ordinals, by more than 1 % */
    double instructions, cycles; /* in windows, outside MPI if in_mpi_known; NAN: not counted */
    bool in_mpi_known;
    bool is_partial; /* some window lacks ranks: serialisation and transfer are NAN there */
    char *why_not;   /* why nothing is known; NULL: it is known */
};

struct report;
/* Fills in *out from a collected report. Returns 0 or -ENOMEM. Free with efficiency_free(). */
RT_MUST_CHECK int efficiency_of(struct efficiency_run *out, const struct report *r);
void efficiency_free(struct efficiency_run *run);

/* Print runs side by side; scaling is relative to the first one. all: every window. */
void efficiency_print(FILE *out, const struct efficiency_run *runs, size_t count, bool all);
/* Writes a member "efficiency" of one run; its windows are null if they are more than most_rows. */
void efficiency_json_run(struct json *j, const struct efficiency_run *run, size_t most_rows);
void efficiency_json(FILE *out, const struct efficiency_run *runs, size_t count);

#endif
