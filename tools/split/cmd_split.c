/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace split`: writes each window of each rank as a separate rank file, in one folder for each
 * window. */
#include "tools/open_run.h"
#include "tools/split/split.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct split_options {
    const char *path, *out;
    struct rank_list ranks;
    struct window_span windows;
    uint64_t wait;
};

struct split_tally {
    char out[PATH_MAX]; /* folder that holds window-NNNNN */
    bool *made;         /* by ordinal: its folder exists */
    size_t room;
    uint64_t files, windows, events, outside, unknown;
    struct split_process *processes;
    size_t process_count;
    uint64_t recordings; /* files of memory accesses that were written */
    bool any_rank, failed;
};

static int take_option(void *options, const struct arguments *a)
{
    struct split_options *o = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    if (strcmp(name, "output") == 0 && a->value[0] != '\0')
        o->out = a->value;
    else if (strcmp(name, "output") == 0)
        tool_error("split", "-output is empty: the name of a new folder is legal");
    else if (strcmp(name, "rank") == 0 && rank_list_parse(&o->ranks, a->value, &e) != 0)
        tool_error("split", "-rank: %s", e.text);
    else if (strcmp(name, "window") == 0 && window_span_parse(&o->windows, a->value, &e) != 0)
        tool_error("split", "-window: %s", e.text);
    else if (strcmp(name, "wait") == 0 && argument_number(a->value, 0, 86400, &o->wait) != 0)
        tool_error("split", "-wait is \"%s\": seconds from 0 to 86400 are legal", a->value);
    else
        return TOOL_OK;
    return strcmp(name, "output") == 0 && a->value[0] != '\0' ? TOOL_OK : TOOL_USAGE;
}

static bool window_folder(struct split_tally *t, int32_t ordinal, char path[PATH_MAX + 32])
{
    (void)snprintf(path, PATH_MAX + 32, "%s/window-%05" PRId32, t->out, ordinal);
    if ((size_t)ordinal >= t->room) {
        size_t room = 2 * (size_t)ordinal + 64;
        bool *more = realloc(t->made, room * sizeof *more);
        if (more == NULL) {
            tool_error("split", "no memory");
            return false;
        }
        memset(more + t->room, 0, (room - t->room) * sizeof *more);
        t->made = more;
        t->room = room;
    }
    if (t->made[ordinal])
        return true;
    if (!output_make_folder("split", path))
        return false;
    t->made[ordinal] = true;
    t->windows++;
    return true;
}

/* Writes one window of one file. Returns false if that fails, for example on a full disk, since all
 * that follow would fail too. */
static bool split_window(struct split_tally *t, struct rt_rank *rank, const struct rt_extents *x,
                         const struct rt_extent *window)
{
    char folder[PATH_MAX + 32], path[PATH_MAX + 340];
    struct rt_error e = {{0}};
    if (!window_folder(t, window->ordinal, folder))
        return false;
    (void)snprintf(path, sizeof path, "%s/%s", folder, rt_rank_info(rank)->file);
    if (rt_rank_split(rank, x, window, path, &e) != 0) {
        tool_error("split", "%s", e.text);
        return false;
    }
    t->files++;
    t->events += window->events;
    return true;
}

static bool split_rank(struct split_tally *t, const struct split_options *o, struct rt_rank *rank)
{
    struct rt_extents x;
    struct rt_error e = {{0}};
    struct progress p;
    bool good = true;
    progress_begin(&p, rt_rank_info(rank)->file);
    if (rt_rank_extents(rank, &x, &e) != 0) {
        tool_error("split", "%s: %s", rt_rank_info(rank)->file, e.text);
        t->failed = true;
        return true;
    }
    for (size_t i = 0; i < x.count && good; i++) {
        if (x.rows[i].known && window_span_has(&o->windows, x.rows[i].ordinal))
            good = split_window(t, rank, &x, &x.rows[i]);
        progress_update(&p, i, x.count);
    }
    t->outside += x.outside;
    t->unknown += x.unknown;
    progress_end(&p);
    rt_extents_free(&x);
    return good;
}

/* Refuses a file that grows, because the split would cut it at an arbitrary moment. */
static bool is_complete(const char *file, const struct rt_rank *rank)
{
    enum rt_file_state state = rt_rank_info(rank)->state;
    if (state == RT_FILE_LIVE)
        tool_error("split",
                   "%s is still being written: split it when the program has ended (-wait)", file);
    if (state == RT_FILE_ABANDONED)
        tool_error("split", "%s was left by its writer; `regtrace recover` finishes it", file);
    return state == RT_FILE_CLOSED || state == RT_FILE_RECOVERED;
}

static bool note_process(struct split_tally *t, const struct rt_rank_info *info)
{
    struct split_process *more = realloc(t->processes, (t->process_count + 1) * sizeof *more);
    if (more == NULL) {
        tool_error("split", "no memory");
        return false;
    }
    t->processes = more;
    struct split_process *p = &more[t->process_count++];
    *p = (struct split_process){.pid = info->pid};
    (void)snprintf(p->program, sizeof p->program, "%s", info->program);
    return true;
}

static bool split_file(struct split_tally *t, const struct split_options *o,
                       const struct rt_run *run, size_t i)
{
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    bool good = true;
    if (rt_rank_open(&rank, run, i, &e) != 0) {
        tool_error("split", "%s: %s", rt_run_file(run, i), e.text);
        t->failed = true;
        return true;
    }
    if (rank_list_has(&o->ranks, rt_rank_info(rank)->rank)) {
        t->any_rank = true;
        if (is_complete(rt_run_file(run, i), rank))
            good = split_rank(t, o, rank) && note_process(t, rt_rank_info(rank));
        else
            t->failed = true;
    }
    rt_rank_close(rank);
    return good;
}

static void build_indexes(struct split_tally *t)
{
    struct progress p;
    progress_begin(&p, "joining the files of each window");
    for (size_t i = 0; i < t->room; i++) {
        char path[PATH_MAX + 32];
        struct rt_error e = {{0}};
        if (!t->made[i])
            continue;
        (void)snprintf(path, sizeof path, "%s/window-%05zu", t->out, i);
        if (rt_index_build(path, &e) != 0) {
            tool_error("split", "%s/regtrace.h5 could not be built: %s", path, e.text);
            t->failed = true;
        }
        progress_update(&p, i, t->room);
    }
    progress_end(&p);
}

static bool carry_memory(struct split_tally *t, const struct rt_run *run)
{
    struct rt_error e = {{0}};
    struct split_memory m = {.dir = rt_run_dir(run),
                             .out = t->out,
                             .processes = t->processes,
                             .process_count = t->process_count,
                             .made = t->made,
                             .room = t->room};
    int rc = split_memory(&m, &e);
    if (rc != 0)
        tool_error("split", "%s", e.text);
    t->recordings = m.files;
    return rc == 0;
}

static int say_result(const struct split_tally *t, const struct split_options *o,
                      const struct rt_run *run)
{
    char span[48];
    if (!t->any_rank && !t->failed) {
        tool_error("split", "none of the ranks asked for (-rank) is in %s", o->path);
        return TOOL_FAILURE;
    }
    if (t->files == 0 && !t->failed) {
        tool_error("split",
                   "%s in %s: there is nothing to split; `regtrace report --all` lists "
                   "the windows that are",
                   o->windows.given ? window_span_text(span, &o->windows) : "no window",
                   rt_run_dir(run));
        return TOOL_FAILURE;
    }
    if (t->files > 0)
        (void)printf("%s: %" PRIu64 " file%s of %" PRIu64 " window%s, %" PRIu64 " event%s; %" PRIu64
                     " lie outside of windows\n",
                     t->out, t->files, t->files == 1 ? "" : "s", t->windows,
                     t->windows == 1 ? "" : "s", t->events, t->events == 1 ? "" : "s", t->outside);
    if (t->recordings > 0)
        (void)printf("%" PRIu64 " file%s of memory accesses (regtrace skel replay)\n",
                     t->recordings, t->recordings == 1 ? "" : "s");
    if (t->unknown > 0)
        tool_warning("split",
                     "events of windows whose opening was lost are in none of the files: %" PRIu64,
                     t->unknown);
    return t->failed ? TOOL_FAILURE : TOOL_OK;
}

static int split_run(const struct split_options *o, const struct rt_run *run)
{
    static struct split_tally t;
    bool good = true;
    if (!output_folder("split", o->out, rt_run_dir(run), "-windows", t.out))
        return TOOL_FAILURE;
    for (size_t i = 0; i < rt_run_count(run) && good; i++)
        good = split_file(&t, o, run, i);
    t.failed |= !good || !carry_memory(&t, run);
    build_indexes(&t);
    (void)rmdir(t.out); /* succeeds only if nothing was written */
    free(t.made);
    free(t.processes);
    return say_result(&t, o, run);
}

static int split_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_split, .count = argc, .words = argv, .next = 1};
    static struct split_options o;
    o.wait = 30;
    int code;
    if (!arguments_one_folder(&a, take_option, &o, "DIR", &o.path, &code))
        return code;
    struct rt_run *run = tool_open_run("split", o.path, o.wait);
    if (run == NULL)
        return TOOL_FAILURE;
    code = split_run(&o, run);
    rt_run_close(run);
    return output_finish("split", code);
}

static const struct command_option split_options[] = {
    {"output", "DIR", "the new folder (default: the run's name with -windows after it)", 'o'},
    {"window", "N[-M]", "only the windows with these ordinals", 'w'},
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_split = {
    .name = "split",
    .summary = "write each window as files that stand alone",
    .synopsis = "[--output DIR] [--window N[-M]] [--rank LIST] [--wait SECONDS] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. The new folder gets a "
        "folder window-NNNNN for each window, with a file rank-NNNNN.h5 for each process that ran "
        "in it and a regtrace.h5: a run by itself, which every subcommand and the Python package "
        "take. The old files stay as they are.\n\n"
        "Each file holds what is needed to read it: identity, options, calibration, strings, "
        "images, communicators, and the threads that ran in the window. The window keeps its "
        "ordinal. A thread that lived on ends with the window (a synthetic end); of waits it has "
        "those in the window; its recorder's own time and its interrupted system calls, which are "
        "known for its whole life only, are 0. The start, or alarm, that opened the window is "
        "there too, and when MPI came up; other events outside of windows are in none of the "
        "files, and a message has their number.\n\n"
        "Memory accesses (-memory) come along, those of each window in its folder: regtrace skel "
        "takes it as it takes a run's. Values (-values) are kept for whole processes: each file "
        "has all of those of its process.",
    .options = split_options,
    .examples = "regtrace split trace\n"
                "regtrace split --window 3 -o third trace && regtrace report third/window-00003",
    .exits = "0 fine, 1 a file could not be read or written, or there is no such window, 2 wrong "
             "usage.",
    .main = split_main,
};
