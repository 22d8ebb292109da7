/* SPDX-License-Identifier: BSD-3-Clause
 * Compares regtrace.h5 with the rank files that it joins. */
#include "tools/check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rt_index_row *find_row(const struct rt_index_row *rows, uint64_t count,
                                           const char *file)
{
    for (uint64_t i = 0; i < count; i++)
        if (strcmp(rows[i].file, file) == 0)
            return &rows[i];
    return NULL;
}

static void compare(struct check *c, const char *what, uint64_t in_file, uint64_t in_index)
{
    c->facts++;
    if (in_file != in_index)
        check_violation(c, CHECK_INDEX, "%s: %" PRIu64 " %s, regtrace.h5 says %" PRIu64, c->file,
                        in_file, what, in_index);
}

static void compare_file(struct check *c, const struct rt_run *run, size_t i,
                         const struct rt_index_row *row)
{
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    if (rt_rank_open(&rank, run, i, &e) != 0) {
        if (++c->unopened > c->unreadable) /* the others have been reported */
            check_violation(c, CHECK_READABLE, "%s", e.text);
        return;
    }
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    const struct rt_rank_info *info = rt_rank_info(rank);
    bool complete = info->state == RT_FILE_CLOSED || info->state == RT_FILE_RECOVERED;
    if (complete != (row->complete != 0)) {
        check_violation(c, CHECK_INDEX, "regtrace.h5 says that it is %s",
                        row->complete != 0 ? "complete" : "not complete");
    } else if (complete) {
        compare(c, "events", info->event_count, row->events);
        compare(c, "fired alarms", t->fired_count, row->fired);
        compare(c, "windows", t->window_count, row->windows);
        compare(c, "threads", t->thread_count, row->threads);
    }
    rt_rank_close(rank);
}

static void compare_sums(struct check *c, const struct rt_index_totals *totals,
                         const struct rt_index_row *rows)
{
    struct rt_index_totals sum = {0};
    for (uint64_t i = 0; i < totals->rows; i++) {
        if (rows[i].complete == 0)
            continue;
        sum.events += rows[i].events;
        sum.fired += rows[i].fired;
        sum.windows += rows[i].windows;
        sum.threads += rows[i].threads;
    }
    c->file = "regtrace.h5";
    compare(c, "events in /ranks", sum.events, totals->events);
    compare(c, "fired alarms in /ranks", sum.fired, totals->fired);
    compare(c, "windows in /ranks", sum.windows, totals->windows);
    compare(c, "threads in /ranks", sum.threads, totals->threads);
}

void check_index(struct check *c, const struct rt_run *run)
{
    struct rt_index_totals totals = {0};
    struct rt_index_row *rows = NULL;
    struct rt_error e = {{0}};
    memset(c->shown, 0, sizeof c->shown);
    c->file = "regtrace.h5";
    int rc = rt_index_read(rt_run_dir(run), &totals, &rows, &e);
    if (rc != 0) {
        /* -ENOENT: there is none while files are open, or for a single file outside a run's folder,
         * so there is nothing to compare. */
        if (rc != -ENOENT)
            check_violation(c, rc == -EBADMSG ? CHECK_INDEX : CHECK_READABLE, "%s", e.text);
        return;
    }
    for (size_t i = 0; i < rt_run_count(run); i++) {
        const struct rt_index_row *row = find_row(rows, totals.rows, rt_run_file(run, i));
        c->file = rt_run_file(run, i);
        if (row == NULL)
            check_violation(c, CHECK_INDEX, "regtrace.h5 does not know this file");
        else
            compare_file(c, run, i, row);
    }
    for (uint64_t i = 0; i < totals.rows; i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", rt_run_dir(run), rows[i].file);
        bool there = access(path, F_OK) == 0;
        c->facts++;
        if (!there)
            check_violation(c, CHECK_INDEX,
                            "%s is not in the folder any more, regtrace.h5 counts it",
                            rows[i].file);
    }
    compare_sums(c, &totals, rows);
    free(rows);
}
