/* SPDX-License-Identifier: BSD-3-Clause
 * Opens a run for reading: waits for writers that are still closing, and builds regtrace.h5 if it
 * is missing. Finds when its first thread started. */
#include "base/clock.h"
#include "tools/open_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum progress_of_file { FILE_DONE, FILE_CLOSING, FILE_GROWING, FILE_LEFT };

/* A file that cannot be opened will not change any more, so waiting is useless. The code that reads
 * it reports the error. */
static enum progress_of_file look(const struct rt_run *run, size_t i)
{
    struct rt_rank *rank = NULL;
    enum progress_of_file result = FILE_DONE;
    if (rt_rank_open(&rank, run, i, NULL) != 0)
        return FILE_LEFT;
    const struct rt_rank_info *info = rt_rank_info(rank);
    if (info->state == RT_FILE_LIVE)
        result = info->process_lives ? FILE_GROWING : FILE_CLOSING;
    else if (info->state == RT_FILE_ABANDONED)
        result = FILE_LEFT;
    rt_rank_close(rank);
    return result;
}

static void wait_for_files(const struct rt_run *run, uint64_t seconds, bool *all_done)
{
    struct progress p;
    uint64_t limit = clock_monotonic_ns() + seconds * 1000000000u;
    size_t count = rt_run_count(run);
    progress_begin(&p, "waiting for the writers, files closed");
    *all_done = true;
    for (size_t i = 0; i < count;) {
        enum progress_of_file f = look(run, i);
        if (f == FILE_CLOSING && clock_monotonic_ns() < limit) {
            progress_update(&p, i, count);
            (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
            continue;
        }
        *all_done &= f == FILE_DONE;
        i++;
    }
    progress_end(&p);
}

/* Returns true if regtrace.h5 lists all files as complete, so that we need not open each to find
 * out. */
static bool index_is_complete(const struct rt_run *run)
{
    struct rt_index_totals totals;
    struct rt_index_row *rows = NULL;
    if (rt_index_read(rt_run_dir(run), &totals, &rows, NULL) != 0)
        return false;
    bool complete = totals.rows == rt_run_count(run);
    for (uint64_t i = 0; complete && i < totals.rows; i++)
        complete = rows[i].complete != 0;
    free(rows);
    return complete;
}

static void build_index(const char *command, const char *dir)
{
    char path[4200];
    struct rt_error e = {{0}};
    (void)snprintf(path, sizeof path, "%s/regtrace.h5", dir);
    if (access(path, F_OK) == 0)
        return;
    if (rt_index_build(dir, &e) != 0)
        tool_warning(command, "regtrace.h5 is missing and could not be built: %s", e.text);
}

#define FIRST_FILE_NS                                                                              \
    UINT64_C(10000000000) /* its writer needs one second, and the machine may be busy */

/* Opens the run. If a process has recorded something that is not yet in a file, waits for that
 * file, unless `wait` is false and another file exists. */
static int open_growing(struct rt_run **run, const char *path, bool wait, struct rt_error *e)
{
    struct rt_processes p;
    struct progress shown;
    uint64_t limit = clock_monotonic_ns() + FIRST_FILE_NS;
    progress_begin(&shown, "waiting for files");
    int rc;
    for (;;) {
        /* before we read the folder, so that we do not miss a file that appears */
        rt_run_processes(path, &p);
        rc = rt_run_open(run, path, e);
        bool more = rc == -ENOENT || (rc == 0 && wait);
        if (!more || p.file_follows == 0 || clock_monotonic_ns() >= limit)
            break;
        if (rc == 0)
            rt_run_close(*run);
        progress_update(&shown, 0, 0);
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    progress_end(&shown);
    if (rc == -ENOENT && p.living > 0)
        rt_error_set(e,
                     "nothing has been recorded in %s yet; traced processes that still run: %u "
                     "(`regtrace ctl %s status` asks them)",
                     path, p.living, path);
    return rc;
}

struct rt_run *tool_open_run(const char *command, const char *path, uint64_t wait_seconds)
{
    struct rt_run *run = NULL;
    struct rt_error e = {{0}};
    bool all_done;
    if (open_growing(&run, path, wait_seconds > 0, &e) != 0) {
        tool_error(command, "%s", e.text);
        return NULL;
    }
    if (!rt_run_is_one_file(run) && index_is_complete(run))
        return run;
    wait_for_files(run, wait_seconds, &all_done);
    if (all_done && !rt_run_is_one_file(run))
        build_index(command, rt_run_dir(run));
    return run;
}

int64_t tool_run_origin(const struct rt_run *run, size_t *unread, struct rt_error *e)
{
    int64_t origin = INT64_MAX;
    *unread = 0;
    for (size_t i = 0; i < rt_run_count(run); i++) {
        struct rt_rank *rank = NULL;
        if (rt_rank_open(&rank, run, i, e) != 0) {
            (*unread)++;
            continue;
        }
        const struct rt_rank_tables *t = rt_rank_tables(rank);
        int64_t first = INT64_MAX;
        for (size_t k = 0; k < t->thread_count; k++)
            if (t->threads[k].started != 0 && rt_rank_ns(rank, t->threads[k].started) < first)
                first = rt_rank_ns(rank, t->threads[k].started);
        if (first == INT64_MAX && t->calibration_count > 0)
            first = rt_rank_ns(rank, t->calibration[0].ticks);
        origin = first < origin ? first : origin;
        rt_rank_close(rank);
    }
    return origin != INT64_MAX ? origin : 0;
}
