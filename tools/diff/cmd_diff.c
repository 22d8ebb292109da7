/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace diff`: compares two runs, by what they call and by window. */
#include "tools/diff/diff.h"

#include "tools/messages/messages.h"
#include "tools/open_run.h"
#include "tools/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct diff_options {
    const char *path[2];
    unsigned paths;
    bool json, force;
    const char *html;
    double fail_above; /* percent; NAN: not given */
    uint64_t top, wait;
    struct rank_list ranks;
    struct window_span windows;
};

static bool parse_percent(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0 && *out <= 1e6;
}

static int take_option(struct diff_options *o, const struct arguments *a)
{
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    bool good = true;
    if (strcmp(name, "json") == 0)
        o->json = true;
    else if (strcmp(name, "force") == 0)
        o->force = true;
    else if (strcmp(name, "html") == 0)
        o->html = a->value;
    else if (strcmp(name, "rank") == 0 && !(good = rank_list_parse(&o->ranks, a->value, &e) == 0))
        tool_error("diff", "-rank: %s", e.text);
    else if (strcmp(name, "window") == 0 &&
             !(good = window_span_parse(&o->windows, a->value, &e) == 0))
        tool_error("diff", "-window: %s", e.text);
    else if (strcmp(name, "top") == 0 &&
             !(good = argument_number(a->value, 0, 1000000, &o->top) == 0))
        tool_error("diff", "-top is \"%s\": a whole number is legal, 0 for all", a->value);
    else if (strcmp(name, "wait") == 0 &&
             !(good = argument_number(a->value, 0, 86400, &o->wait) == 0))
        tool_error("diff", "-wait is \"%s\": seconds from 0 to 86400 are legal", a->value);
    else if (strcmp(name, "fail-above") == 0 && !(good = parse_percent(a->value, &o->fail_above)))
        tool_error("diff", "-fail-above is \"%s\": a number from 0 to 1000000 is legal", a->value);
    else if (strcmp(name, "messages") == 0 && !(good = messages_choose(a->value)))
        tool_error("diff", "-messages is \"%s\": all and none are legal", a->value);
    return good ? TOOL_OK : TOOL_USAGE;
}

static int read_options(struct diff_options *o, int argc, char **argv, int *code)
{
    struct arguments a = {.command = &command_diff, .count = argc, .words = argv, .next = 1};
    *o = (struct diff_options){.top = 10, .wait = 30, .fail_above = NAN};
    for (enum argument_kind kind; (kind = arguments_next(&a)) != ARGUMENT_END;) {
        *code = kind == ARGUMENT_DONE ? TOOL_OK : TOOL_USAGE;
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG)
            return 1;
        if (kind == ARGUMENT_OPTION && (*code = take_option(o, &a)) != TOOL_OK)
            return 1;
        if (kind == ARGUMENT_WORD && o->paths == 2) {
            tool_error("diff", "two runs are compared; \"%s\" is a third one", a.value);
            return 1;
        }
        if (kind == ARGUMENT_WORD)
            o->path[o->paths++] = a.value;
    }
    *code = TOOL_USAGE;
    if (o->paths == 2)
        return 0;
    tool_error("diff", "two runs are compared: regtrace diff RUN1 RUN2");
    return 1;
}

static int collect(const struct diff_options *o, struct diff *d, int run)
{
    struct rt_run *opened = tool_open_run("diff", o->path[run], o->wait);
    int rc = opened != NULL ? tally_collect(&d->run[run], opened, &o->ranks, &o->windows) : -ENOENT;
    rt_run_close(opened);
    return rc == 0 ? TOOL_OK : TOOL_FAILURE;
}

static int write_page(const struct diff_options *o, const struct diff *d)
{
    static const struct output_kind kind = {.option = "html"};
    struct output page;
    struct rt_error e = {{0}};
    int rc = output_begin(&page, o->html, &kind, o->force, &e);
    if (rc == 0) {
        FILE *out = fopen(page.working, "w");
        if (out != NULL) {
            diff_print_html(out, d);
            rc = ferror(out) ? -EIO : 0;
            rc = fclose(out) != 0 || rc != 0 ? -EIO : 0;
        } else {
            rc = -errno;
        }
        if (rc != 0)
            rt_error_set(&e, "%s: %s", o->html, strerror(-rc));
        rc = output_end(&page, rc, &e);
    }
    if (rc != 0)
        tool_error("diff", "%s", e.text);
    return rc == 0 ? TOOL_OK : TOOL_FAILURE;
}

/* Decides about -fail-above. */
static int judge(const struct diff_options *o, const struct diff *d)
{
    const struct diff_row *row;
    char text[32];
    if (isnan(o->fail_above))
        return TOOL_OK;
    if (d->window_count < 2) {
        tool_error("diff", "-fail-above needs two windows or more of both runs, to tell a longer "
                           "time from noise");
        return TOOL_USAGE;
    }
    if (!diff_is_slower(d, o->fail_above, &row))
        return TOOL_OK;
    const struct diff_figure *f = &row->of[DIFF_TIME];
    tool_error("diff", "-fail-above %g: %s, %s, takes %s longer", o->fail_above,
               diff_table_name(row->table), diff_row_text(row),
               diff_value_text(text, DIFF_TIME, f->value[1] - f->value[0]));
    return TOOL_FAILURE;
}

/* Is one of the runs a profile? */
static bool is_profile(const struct diff *d)
{
    bool found = false;
    for (int run = 0; run < 2; run++)
        for (size_t i = 0; i < d->run[run].report.rank_count; i++)
            found |= d->run[run].report.ranks[i].is_profiled;
    return found;
}

static int show(const struct diff_options *o, const struct diff *d)
{
    if (d->window_count == 0) {
        tool_error("diff",
                   "no window is whole in both runs: `regtrace report --all` lists the windows of "
                   "each, which are compared by their ordinals%s",
                   is_profile(d)
                       ? "; a profile (-mode profile) is not compared, as it does not say "
                         "what is noise: give the run windows (-control) too"
                       : "");
        return TOOL_FAILURE;
    }
    int code = TOOL_OK;
    if (o->html != NULL)
        code = write_page(o, d);
    if (o->json)
        diff_print_json(stdout, d);
    else if (o->html == NULL)
        diff_print_text(stdout, d, (size_t)o->top);
    return code == TOOL_OK ? judge(o, d) : code;
}

static int diff_main(int argc, char **argv)
{
    static struct diff_options o;
    static struct diff d;
    int code;
    if (read_options(&o, argc, argv, &code) != 0)
        return code;
    code = collect(&o, &d, 0);
    if (code == TOOL_OK)
        code = collect(&o, &d, 1);
    if (code == TOOL_OK && diff_compare(&d) != 0) {
        tool_error("diff", "no memory");
        code = TOOL_FAILURE;
    }
    if (code == TOOL_OK) {
        code = show(&o, &d);
        if (code == TOOL_OK && d.run[0].report.failed + d.run[1].report.failed > 0)
            code = TOOL_FAILURE;
    }
    diff_free(&d);
    return output_finish("diff", code);
}

static const struct command_option diff_options[] = {
    {"json", NULL, "one JSON object instead of tables", 0},
    {"html", "FILE", "a page with all tables, sorted by a click, instead of text", 0},
    {"force", NULL, "replace the file of -html", 0},
    {"fail-above", "PERCENT",
     "exit with 1 if some time is longer in RUN2 by more than noise and by more than PERCENT of "
     "RUN1's time in windows (a difference that a single window makes is noise)",
     0},
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"window", "N[-M]", "only the windows with these ordinals", 'w'},
    {"top", "N", "how many rows of each table are shown; 0 for all (default 10)", 0},
    {"messages", "WHICH",
     "all (the default) or none: none leaves the messages out, and with them who waits for a "
     "sender",
     0},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_diff = {
    .name = "diff",
    .summary = "compare two runs: functions, call paths, waits, windows, counters",
    .synopsis = "[--json] [--html FILE] [--force] [--fail-above PERCENT] [--rank LIST] [--window "
                "N[-M]] [--top N] [--messages WHICH] [--wait SECONDS] RUN1 RUN2",
    .description =
        "RUN1 and RUN2 are folders of runs, their regtrace.h5, or single rank files. What both "
        "have in the same windows, by ordinal, is shown side by side: the time in windows, in MPI "
        "and outside, waits; MPI functions; functions of the program (-functions), samples by "
        "function (-sample), MPI calls by call path (-callpath), waits by the call that waits and "
        "by the call that came late, counted events (-events), and the windows themselves. Windows "
        "that one run lacks, that were cut off, or that another share of the processes has are "
        "left out and named. Figures are sums over all processes, or means of a process if the "
        "runs have different numbers of them.\n\n"
        "Functions are aligned by name. Call paths of one build are aligned by their functions and "
        "source lines. Those of two builds are aligned by their functions, and where a function is "
        "called from several lines by the order of the lines, as lines move when a file is edited; "
        "if one build has more of them, they are one row. Names are looked up in the programs as "
        "they are on this machine, so keep the program of RUN1 when you build that of RUN2.\n\n"
        "A difference is marked if it is more than noise: than it varies from window to window. "
        "Times, samples and counted events that both runs have in every window are tested by the "
        "logarithms of the windows' ratios, all else by the windows' differences (paired t tests). "
        "A difference beyond the noise that is shown has a probability below 5 %. Marks ask for "
        "more, as many figures are tested: of all that are marked, 1 % is expected to be chance "
        "(Benjamini and Hochberg 1995). The noise is that within the runs; what differs from run "
        "to run, such as the placement of processes, shows if you compare two runs of the same "
        "program. With one window the noise is unknown. A window is marked (!) if its difference "
        "is other than those of the other windows.\n\n"
        "What is marked comes first, then what differs most: in time, counted events in "
        "relation to the count.\n\n"
        "--json has: runs (of both: dir, processes, windows, not_compared), windows_compared "
        "(ordinals), per_process (values are means of a process), chains_differ (then windows of "
        "one "
        "ordinal need not be the same part of the program), and the tables totals, mpi, "
        "functions, samples, paths, waits, late_calls, counters, windows. Each is a list of rows "
        "in the order of importance: name, name_1 and name_2 (as either run has it, with source "
        "lines; null: it does not have it), time_ns, count (calls, waits, periods of samples, "
        "counted events, in totals and windows also windows of threads) and bytes, each with "
        "run_1, run_2, difference, percent (of run 1; null where that is 0), noise, p "
        "(probability of such a difference by chance; both null where unknown) and significant, in "
        "windows stands_out (null where unknown).",
    .options = diff_options,
    .examples = "regtrace diff before after\nregtrace diff --html diff.html before after\n"
                "regtrace diff --fail-above 3 reference today || echo slower",
    .exits = "0 fine, 1 something is longer than -fail-above allows, or a file could not be read "
             "(the rest is shown), 2 wrong usage.",
    .main = diff_main,
};
