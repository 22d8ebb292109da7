/* SPDX-License-Identifier: BSD-3-Clause
 * Implements `regtrace page`: one file for browsers that has the report, the efficiency and the
 * time lines of a run, linked with each other. */
#include "base/identity.h"
#include "tools/channels/event_replay.h"
#include "tools/open_run.h"
#include "tools/output.h"
#include "tools/page/page_parts.h"
#include "tools/report/efficiency.h"
#include "tools/report/hot/hot.h"
#include "tools/report/report.h"
#include "tools/timeline/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A page with longer lists loads slowly: it has sums in place of each window and pair of ranks. */
#define MOST_ROWS 20000

struct page_command {
    const char *path, *out;
    struct rank_list ranks;
    struct window_span windows;
    uint64_t most, wait;
    bool force;
};

/* What the page is made of. */
struct page_run {
    struct rt_run *run;
    struct report report;
    struct efficiency_run efficiency;
    struct hot hot;
    struct event_replay *replay;
    struct timeline *timeline; /* NULL: there are no time lines, */
    struct rt_error why_not;   /* for this reason */
    struct replay_found found;
};

static int take_option(void *options, const struct arguments *a)
{
    struct page_command *c = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    bool good = true;
    if (strcmp(name, "output") == 0) {
        c->out = a->value;
        good = a->value[0] != '\0';
        if (!good)
            tool_error("page", "-output is empty: the name of a new file is legal");
    } else if (strcmp(name, "force") == 0) {
        c->force = true;
    } else if (strcmp(name, "rank") == 0) {
        good = rank_list_parse(&c->ranks, a->value, &e) == 0;
    } else if (strcmp(name, "window") == 0) {
        good = window_span_parse(&c->windows, a->value, &e) == 0;
    } else if (strcmp(name, "most") == 0) {
        good = argument_number(a->value, 0, UINT32_MAX, &c->most) == 0;
        if (!good)
            tool_error("page", "-most is \"%s\": a number from 0 to %" PRIu32 " is legal", a->value,
                       UINT32_MAX);
    } else {
        good = argument_number(a->value, 0, 86400, &c->wait) == 0;
        if (!good)
            tool_error("page", "-wait is \"%s\": seconds from 0 to 86400 are legal", a->value);
    }
    if (e.text[0] != '\0')
        tool_error("page", "-%s: %s", name, e.text);
    return good ? TOOL_OK : TOOL_USAGE;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void warn_of_waits(const struct report *r)
{
    size_t count;
    const char *why_not;
    (void)report_ideal_windows(r, &count, &why_not);
    if (r->waits != NULL && why_not != NULL)
        tool_warning("page", "the waits of ranks are unknown: %s", why_not);
}

/* Warns of a file that the report has read, but not what comes after it. Why a file could not be
 * read at all, the report knows. */
static void skip(void *context, const char *file, const char *why)
{
    const struct page_run *p = context;
    for (size_t i = 0; i < p->report.rank_count; i++) {
        const struct report_rank *k = &p->report.ranks[i];
        if (k->error == NULL && k->file != NULL && strcmp(k->file, file) == 0)
            tool_warning("page", "the page has only a part of %s: %s", file, why);
    }
}

static int collect_report(struct page_run *p, const struct page_command *c, struct rt_error *e)
{
    int rc = report_collect(&p->report, p->run, &c->ranks, &c->windows, e);
    if (rc != 0)
        return rc;
    report_collect_waits(&p->report, p->run, &c->ranks, 1);
    warn_of_waits(&p->report);
    rc = efficiency_of(&p->efficiency, &p->report);
    const struct skipped_files skipped = {.skip = skip, .context = p};
    if (rc == 0 && hot_collect_run(&p->hot, p->run, &c->ranks, &c->windows, &skipped) == -ENOMEM)
        rc = -ENOMEM; /* skip() has said the others */
    if (rc != 0)
        rt_error_set(e, "no memory");
    return rc;
}

/* Collects the time lines of what can be read. Without them the page still has the report. */
static void collect_timeline(struct page_run *p, const struct page_command *c, const char *folder)
{
    const struct replay_options replay = {
        .policy = EMU_SALVAGE, .ranks = c->ranks, .skipped = {.skip = skip, .context = p}};
    const struct timeline_options options = {.title = identity_base_name(p->report.dir),
                                             .windows = c->windows,
                                             .to = INT64_MAX,
                                             .most = c->most,
                                             .salvaged = true};
    struct rt_error *e = &p->why_not;
    int64_t from, to;
    int rc = replay_open(&p->replay, p->run, &replay, e);
    if (rc == 0)
        rc = timeline_collect(&p->timeline, p->replay, &options, folder, &p->found, e);
    if (rc == 0 && !timeline_span(p->timeline, &from, &to))
        rt_error_set(e, "nothing was recorded that time lines show");
    if (e->text[0] != '\0') {
        timeline_close(p->timeline);
        p->timeline = NULL;
        tool_warning("page", "the page has no time lines: %s", e->text);
    }
}

static void end_run(struct page_run *p)
{
    timeline_close(p->timeline);
    replay_close(p->replay);
    efficiency_free(&p->efficiency);
    hot_free(&p->hot);
    report_free(&p->report);
    rt_run_close(p->run);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_timeline_facts(struct json *j, const struct page_run *p)
{
    int64_t realtime_ns;
    json_object_begin(j, "timeline");
    json_text(j, "why_not", p->timeline == NULL ? p->why_not.text : NULL);
    if (p->timeline != NULL) {
        /* time 0 of the time lines, on the report's clock */
        json_int(j, "origin_ns", replay_origin(p->replay, &realtime_ns) - p->report.origin_ns);
        json_bool(j, "exact", timeline_is_exact(p->timeline));
        json_uint(j, "wrong", p->found.wrong);
    }
    json_object_end(j);
}

/* Returns the addresses whose lacks are those of the page: samples look at all images. */
static const struct addresses *looked_up(const struct page_run *p)
{
    return p->hot.sample_count > 0 ? &p->hot.at : &p->report.addresses;
}

/* Writes why names of functions are missing, as lines; null: nothing prevents them. Call it once
 * they have been looked up. */
static void write_lacks(struct json *j, const struct addresses *a)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (memory != NULL)
        addresses_print_lacks(memory, a);
    if (memory != NULL && fclose(memory) == 0 && n > 0)
        json_text(j, "lacks", text);
    else
        json_null(j, "lacks");
    free(text);
}

static int write_report(struct page_run *p, FILE *out)
{
    struct json j = {.out = out, .in_html = true};
    struct report_estimate estimate;
    bool estimated = report_estimate(&p->report, NULL, &estimate);
    json_object_begin(&j, NULL);
    json_text(&j, "version", tool_version());
    json_text(&j, "title", identity_base_name(p->report.dir));
    json_object_begin(&j, "report");
    report_json_members(&j, &p->report, estimated ? &estimate : NULL, MOST_ROWS);
    json_object_end(&j);
    efficiency_json_run(&j, &p->efficiency, MOST_ROWS);
    json_object_begin(&j, "samples");
    hot_json_members(&j, &p->hot);
    int rc = hot_json_tree(&j, &p->hot);
    json_object_end(&j);
    write_timeline_facts(&j, p);
    write_lacks(&j, looked_up(p));
    json_object_end(&j);
    return rc;
}

static int write_page(struct page_run *p, FILE *out, struct rt_error *e)
{
    (void)fputs(page_before_report, out);
    int rc = write_report(p, out);
    if (rc != 0)
        rt_error_set(e, "no memory");
    (void)fputs(page_before_timeline, out);
    if (rc == 0 && p->timeline != NULL)
        rc = timeline_write_data(p->timeline, out, e);
    (void)fputs(page_end, out);
    return rc;
}

/* --- the command ------------------------------------------------------------------------------ */

static int make_page(struct page_run *p, const struct page_command *c)
{
    static const struct output_kind kind = {.option = "output"};
    char path[PATH_MAX], folder[PATH_MAX];
    struct output output;
    struct rt_error e = {{0}};
    FILE *file;
    int64_t bytes = 0;
    output_name(path, c->out, rt_run_dir(p->run), "-page.html");
    int rc = output_open_file(&output, path, &kind, c->force, &file, &e);
    if (rc == 0) {
        rc = collect_report(p, c, &e);
        output_folder_of(folder, path);
        if (rc == 0)
            collect_timeline(p, c, folder);
        if (rc == 0)
            rc = write_page(p, file, &e);
        rc = output_close_file(&output, file, rc, &bytes, &e);
    }
    addresses_print_lacks(stderr, looked_up(p));
    if (rc == 0)
        (void)printf("%s: %" PRId64 " bytes\n", path, bytes);
    else
        tool_error("page", "%s", e.text);
    return rc == 0 ? TOOL_OK : TOOL_FAILURE;
}

static int page_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_page, .count = argc, .words = argv, .next = 1};
    static struct page_command command;
    static struct page_run run;
    int code;
    command = (struct page_command){.most = 4194304, .wait = 30};
    if (!arguments_one_folder(&a, take_option, &command, "DIR", &command.path, &code))
        return code;
    run.run = tool_open_run("page", command.path, command.wait);
    if (run.run == NULL)
        return TOOL_FAILURE;
    code = make_page(&run, &command);
    for (size_t i = 0; i < run.report.rank_count; i++)
        if (run.report.ranks[i].error != NULL) {
            tool_error("page", "%s: %s", run.report.ranks[i].file, run.report.ranks[i].error);
            code = TOOL_FAILURE;
        }
    end_run(&run);
    return output_finish("page", code);
}

static const struct command_option page_options[] = {
    {"output", "FILE", "the new page (default: the run's name with -page.html after it)", 'o'},
    {"force", NULL, "replace the page if it is there, once the new one is whole", 'f'},
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"window", "N[-M]", "only the windows with these ordinals", 'w'},
    {"most", "COUNT",
     "calls, functions ... that the time lines have each of; where there are more they have "
     "summaries of small spans of time (default 4194304)",
     0},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_page = {
    .name = "page",
    .summary = "show a run as one page: efficiency, time lines, messages, call paths, waits",
    .synopsis = "[--output FILE] [--force] [--rank LIST] [--window N[-M]] [--most COUNT] [--wait "
                "SECONDS] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. The page is one file that "
        "a browser opens without a network. It has what regtrace report shows, its efficiency "
        "figures, the time lines of regtrace timeline, the messages from rank to rank as a matrix, "
        "and the time in MPI and the samples of REGTRACE_SAMPLE by call path as flame graphs. "
        "Figures are links to where they come "
        "from: a wait to its call path, its window and its moment in the time lines, an efficiency "
        "to the ranks and windows that limit it, a pair of ranks to the call sites of its "
        "messages.\n\n"
        "The figures are those of regtrace report --json and regtrace report --efficiency --json; "
        "regtrace-report(1) says what they mean. Call paths need a run with -callpath.\n\n"
        "If d3 was there when regtrace was built, its figures are drawn with it, and the page has "
        "its licence; otherwise the page has tables in place of the matrix and the flame graph.\n\n"
        "Files that are not whole are shown as far as they are. A run of more than 20000 windows "
        "or pairs of ranks has sums in place of a row for each. A file has another name, "
        "FILE.unfinished-PID, until it is whole.",
    .options = page_options,
    .examples = "regtrace page trace && xdg-open trace-page.html\n"
                "regtrace page --window 3-5 -o windows.html trace",
    .exits = "0 fine, 1 a file could not be read or written (the page shows the rest), 2 wrong "
             "usage.",
    .main = page_main,
};
