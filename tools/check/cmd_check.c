/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace check`: tests a run's invariants and prints each violation. */
#include "tools/check/check.h"
#include "tools/open_run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *check_rule_name(enum check_rule rule)
{
    static const char *const names[CHECK_RULES] = {
        [CHECK_READABLE] = "readable", [CHECK_CLOSED] = "closed",   [CHECK_ORDINALS] = "ordinals",
        [CHECK_WINDOWS] = "windows",   [CHECK_CLOCKS] = "clocks",   [CHECK_COUNTS] = "counts",
        [CHECK_LOSSES] = "losses",     [CHECK_BALANCE] = "balance", [CHECK_STRINGS] = "strings",
        [CHECK_CODES] = "codes",       [CHECK_FIRED] = "fired",     [CHECK_FOOTERS] = "footers",
        [CHECK_PIECES] = "pieces",     [CHECK_PROFILE] = "profile", [CHECK_INDEX] = "index",
        [CHECK_PATHS] = "paths",
    };
    return names[rule];
}

void check_violation(struct check *c, enum check_rule rule, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->violations++;
    c->by_rule[rule]++;
    if (c->shown[rule]++ < CHECK_SHOWN)
        (void)printf("%s: %s: %s\n", c->file, check_rule_name(rule), text);
}

static void check_file(struct check *c, const struct rt_run *run, size_t i, bool allow_live)
{
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    c->file = rt_run_file(run, i);
    memset(c->shown, 0, sizeof c->shown);
    if (rt_rank_open(&rank, run, i, &e) != 0) {
        check_violation(c, CHECK_READABLE, "%s", e.text);
        c->unreadable++;
        return;
    }
    const struct rt_rank_info *info = rt_rank_info(rank);
    c->file = rt_run_file(run, i); /* opening may have renamed it */
    c->facts++;
    c->live = c->live || info->state == RT_FILE_LIVE;
    if (info->state == RT_FILE_ABANDONED)
        check_violation(c, CHECK_CLOSED,
                        "its writer is gone without closing it; regtrace recover finishes it");
    if (info->state == RT_FILE_LIVE && !allow_live)
        check_violation(c, CHECK_CLOSED,
                        "it is still being written; -live checks it as far as it is");
    check_tables(c, rank);
    if (!c->windows.given)
        check_profile(c, rank);
    if (check_events(c, rank, &e) != 0)
        check_violation(c, CHECK_READABLE, "%s", e.text);
    for (int r = 0; r < CHECK_RULES; r++)
        if (c->shown[r] > CHECK_SHOWN)
            (void)printf("%s: %s: ... %" PRIu64 " more\n", c->file,
                         check_rule_name((enum check_rule)r), c->shown[r] - CHECK_SHOWN);
    rt_rank_close(rank);
}

/* Refuses a span that is in no file: that is a mistake, and must not pass as "no violation". */
static bool span_is_there(const struct check *c, const struct rt_run *run)
{
    char span[48];
    if (!c->windows.given || c->in_span > 0 || c->violations > 0)
        return true;
    tool_error("check", "%s of -window is not in %s; `regtrace report --all` lists those that are",
               window_span_text(span, &c->windows), rt_run_dir(run));
    return false;
}

static int check_run(const struct rt_run *run, bool allow_live, const struct window_span *windows)
{
    char span[48];
    struct check c = {.windows = *windows};
    for (size_t i = 0; i < rt_run_count(run); i++)
        check_file(&c, run, i, allow_live);
    if (!windows->given && !(allow_live && c.live))
        check_index(&c, run);
    if (!span_is_there(&c, run))
        return TOOL_FAILURE;
    if (c.violations == 0) {
        (void)printf("%s: %zu file%s%s%s, %" PRIu64 " facts compared, no violation\n",
                     rt_run_dir(run), rt_run_count(run), rt_run_count(run) == 1 ? "" : "s",
                     windows->given ? ", " : "",
                     windows->given ? window_span_text(span, windows) : "", c.facts);
        return TOOL_OK;
    }
    (void)printf("%s: %zu file%s, %" PRIu64 " violation%s:", rt_run_dir(run), rt_run_count(run),
                 rt_run_count(run) == 1 ? "" : "s", c.violations, c.violations == 1 ? "" : "s");
    for (int r = 0; r < CHECK_RULES; r++)
        if (c.by_rule[r] > 0)
            (void)printf(" %s %" PRIu64, check_rule_name((enum check_rule)r), c.by_rule[r]);
    (void)putchar('\n');
    return TOOL_FAILURE;
}

struct check_options {
    bool live;
    struct window_span windows;
    uint64_t wait;
};

static int take_option(void *options, const struct arguments *a)
{
    struct check_options *o = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    if (strcmp(name, "live") == 0) {
        o->live = true;
        return TOOL_OK;
    }
    if (strcmp(name, "window") == 0 && window_span_parse(&o->windows, a->value, &e) != 0)
        tool_error("check", "-window: %s", e.text);
    else if (strcmp(name, "wait") == 0 && argument_number(a->value, 0, 86400, &o->wait) != 0)
        tool_error("check", "-wait is \"%s\": seconds from 0 to 86400 are legal", a->value);
    else
        return TOOL_OK;
    return TOOL_USAGE;
}

static int check_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_check, .count = argc, .words = argv, .next = 1};
    struct check_options o = {.wait = 30};
    const char *path;
    int code;
    if (!arguments_one_folder(&a, take_option, &o, "DIR", &path, &code))
        return code;
    struct rt_run *run = tool_open_run("check", path, o.live ? 0 : o.wait);
    if (run == NULL)
        return TOOL_FAILURE;
    code = check_run(run, o.live, &o.windows);
    rt_run_close(run);
    return output_finish("check", code);
}

static const struct command_option check_options[] = {
    {"live", NULL, "files that are still being written are no violation", 0},
    {"window", "N[-M]",
     "only the windows with these ordinals; what concerns whole files (counts of rows, losses, "
     "footers, pieces, regtrace.h5) is not looked at then",
     'w'},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_check = {
    .name = "check",
    .summary = "hold a run against its invariants",
    .synopsis = "[--live] [--window N[-M]] [--wait SECONDS] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. Each violation "
        "is a line \"file: rule: what\". The "
        "rules:\n\n"
        "readable: every file opens and every event can be read. closed: no file was "
        "left by its writer. ordinals: "
        "windows are numbered from 0 without a gap, but for one of each thread that "
        "ended with its process. windows: each has a stop or a "
        "truncation mark, starts before it stops, does not "
        "overlap another of its thread, and its rows in /events are its own. clocks: "
        "they never go back in a thread. "
        "counts: events, windows and fired alarms are as many as the tables and the "
        "thread rows say. losses: "
        "what threads dropped is accounted for. balance: MPI calls are entered and left "
        "in pairs, in each "
        "window. strings and codes: all can be resolved. fired: alarms are known, rows "
        "in order. footers: one row per "
        "thread. pieces: /pieces tells the threads of events as the events do. profile: its "
        "times are possible, and as many as its calls. index: "
        "regtrace.h5 counts what the rank files hold.",
    .options = check_options,
    .examples = "regtrace check trace\nregtrace check --window 3-5 trace",
    .exits = "0 no violation, 1 violations or a file that cannot be read, 2 wrong usage.",
    .main = check_main,
};
