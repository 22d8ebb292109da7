/* SPDX-License-Identifier: BSD-3-Clause
 * Implements `regtrace export`: writes a run in the format of another tool. */
#include "tools/streams/joint_processes.h"
#include "tools/export/export.h"
#include "tools/output.h"
#include "tools/open_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct export_format *const formats[] = {&export_chrome, &export_otf2, &export_ovni,
                                                      &export_csv};

#define NS_IN_SECOND INT64_C(1000000000)

/* Parses seconds, a decimal number; cuts off digits after the ninth (ns). */
static int parse_seconds(const char *text, int64_t *ns)
{
    char whole[12];
    uint64_t seconds, part = 0;
    size_t n = strcspn(text, ".");
    if (n == 0 || n >= sizeof whole)
        return -EINVAL;
    memcpy(whole, text, n);
    whole[n] = '\0';
    if (argument_number(whole, 0, 1000000000, &seconds) != 0)
        return -EINVAL;
    if (text[n] == '.') {
        const char *p = text + n + 1;
        size_t digits = strspn(p, "0123456789");
        if (digits == 0 || p[digits] != '\0')
            return -EINVAL;
        for (size_t i = 0; i < 9; i++)
            part = 10 * part + (i < digits ? (uint64_t)(p[i] - '0') : 0);
    }
    *ns = (int64_t)seconds * NS_IN_SECOND + (int64_t)part;
    return 0;
}

static int take_format(struct export_options *o, const struct export_format *f, const char *value)
{
    if (o->format != NULL) {
        tool_error("export", "one format at a time: -%s and -%s", o->format->option, f->option);
        return TOOL_USAGE;
    }
    if (value[0] == '\0') {
        tool_error("export", "-%s is empty: the name of a new %s is legal", f->option,
                   f->folder ? "folder" : "file");
        return TOOL_USAGE;
    }
    o->format = f;
    o->out = value;
    return TOOL_OK;
}

static int take_option(void *options, const struct arguments *a)
{
    struct export_options *o = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i]->option) == 0)
            return take_format(o, formats[i], a->value);
    if (strcmp(name, "rank") == 0 && rank_list_parse(&o->ranks, a->value, &e) != 0)
        tool_error("export", "-rank: %s", e.text);
    else if (strcmp(name, "window") == 0 && window_span_parse(&o->windows, a->value, &e) != 0)
        tool_error("export", "-window: %s", e.text);
    else if ((strcmp(name, "from") == 0 && parse_seconds(a->value, &o->from_ns) != 0) ||
             (strcmp(name, "to") == 0 && parse_seconds(a->value, &o->to_ns) != 0))
        tool_error("export",
                   "-%s is \"%s\": seconds since the run began are legal, for example 1.25", name,
                   a->value);
    else if (strcmp(name, "wait") == 0 && argument_number(a->value, 0, 86400, &o->wait) != 0)
        tool_error("export", "-wait is \"%s\": seconds from 0 to 86400 are legal", a->value);
    else if (strcmp(name, "messages") == 0 && !messages_choose(a->value))
        tool_error("export", "-messages is \"%s\": all and none are legal", a->value);
    else {
        o->force |= strcmp(name, "force") == 0;
        return TOOL_OK;
    }
    return TOOL_USAGE;
}

static bool options_are_right(const struct export_options *o)
{
    if (o->format == NULL)
        tool_error("export", "no format is named: -chrome FILE, -otf2 OUT, -ovni OUT or -csv FILE");
    else if (strcmp(o->out, "-") == 0 && o->format != &export_csv)
        tool_error("export", "-%s cannot write to standard output: name a %s", o->format->option,
                   o->format->folder ? "folder" : "file");
    else if (o->from_ns > o->to_ns)
        tool_error("export", "-from lies after -to: nothing is between them");
    else
        return true;
    return false;
}

/* shows_spans: the format shows spans; otherwise it lists the events as they are and nothing
 * differs. */
static void say_what_differs(const struct export_tally *t, bool shows_spans)
{
    if (!shows_spans)
        return;
    if (t->unfinished != 0)
        tool_warning("export",
                     "%" PRIu64 " windows, regions and calls have no end (a thread that was "
                     "still there when its process ended, was killed or runs still, handlers "
                     "left by a jump, dropped events): each is ended where it was over at the "
                     "latest",
                     t->unfinished);
    if (t->unbegun != 0)
        tool_warning("export", "%" PRIu64 " ends have no beginning (dropped events): left out",
                     t->unbegun);
    if (t->crossing != 0)
        tool_warning("export",
                     "%" PRIu64 " times a region or call went on beyond one that it had begun "
                     "in: it is in two pieces",
                     t->crossing);
}

/* Reports in one line, by reason, the sends and receives without a partner; also messages left
 * out. */
static void say_unmatched(const struct export_messages *m)
{
    uint64_t sends = 0, receives = 0;
    char why[1024] = "";
    size_t n = 0;
    for (int i = 0; i < UNMATCHED_REASONS; i++) {
        sends += m->left.sends[i];
        receives += m->left.receives[i];
        if (m->left.sends[i] + m->left.receives[i] != 0)
            n += (size_t)snprintf(why + n, sizeof why - n, "%s%" PRIu64 " and %" PRIu64 " %s",
                                  n == 0 ? "" : "; ", m->left.sends[i], m->left.receives[i],
                                  unmatched_text((enum unmatched_reason)i));
    }
    if (n != 0)
        tool_warning("export",
                     "%" PRIu64 " sends and %" PRIu64 " receives of these ranks, in all their "
                     "windows, have no partner: %s",
                     sends, receives, why);
    if (m->alone != 0)
        tool_warning("export",
                     "%" PRIu64 " messages are left out: one end alone is in the selection",
                     m->alone);
}

/* Opens the place to write to. With several processes, the first one makes the place; the others
 * write their files in it, or text that the first process joins there. */
static int begin_output(struct export *x, const struct export_options *o,
                        const struct output_kind *kind, struct output *out)
{
    int rc = 0;
    if (joint_is_first())
        rc = output_begin(out, o->out, kind, o->force, &x->e);
    if (rc != 0 || joint_count() == 1)
        return rc;
    if (o->format->shares_text)
        return share_open(&x->share, "export", &x->e);
    return joint_is_first() ? joint_tell("place", out->working, &x->e)
                            : joint_hear("place", out->working, sizeof out->working, &x->e);
}

/* Waits until all processes have completed their parts of the output; joins a shared text. */
static int gather(struct export *x, const struct export_options *o, const char *working)
{
    uint64_t lines = 0;
    int rc = 0;
    if (x->share != NULL)
        rc = share_join(x->share, strcmp(working, "-") == 0 ? NULL : working, &lines, &x->e);
    else if (o->format->shares_files && !joint_is_first())
        rc = joint_tell("done", "", &x->e);
    for (uint32_t i = 1;
         rc == 0 && o->format->shares_files && joint_is_first() && i < joint_count(); i++)
        rc = joint_wait("done", i, &x->e);
    if (rc == 0)
        joint_delivered();
    return rc;
}

static void write_export(struct export *x, const struct export_options *o, const char *working)
{
    const char *path = x->share != NULL ? share_path(x->share) : working;
    void *state = o->format->begin(x, path);
    if (state != NULL) {
        if (x->rc == 0)
            export_walk(x, o->format, state);
        o->format->finish(state);
    }
    if (x->rc == 0 && joint_count() > 1)
        x->rc = gather(x, o, working);
    share_close(x->share);
}

static int export_to(struct export *x, const struct export_options *o)
{
    static struct output out;
    const struct output_kind kind = {o->format->option, o->format->folder, o->format->is_ours,
                                     o->format == &export_csv};
    int rc = begin_output(x, o, &kind, &out);
    if (rc == 0) {
        write_export(x, o, out.working);
        rc = x->rc;
    }
    if (joint_is_first())
        rc = output_end(&out, rc, &x->e);
    if (rc != 0) {
        tool_error("export", "%s", x->e.text);
        return TOOL_FAILURE;
    }
    say_what_differs(&x->tally, o->format->enter != NULL);
    say_unmatched(&x->messages);
    if (x->tally.events == 0)
        tool_warning("export", "no event of %s is in the selection", o->path);
    return x->tally.files_left_out != 0 ? TOOL_FAILURE : TOOL_OK;
}

/* Reads this process's part of the run for the first process, which alone writes this format. */
static int read_part(struct export *x, const struct export_options *o, const struct rt_run *run)
{
    if (streams_open(&x->streams, run, &o->ranks, NULL, &x->e) != 0) {
        tool_error("export", "%s", x->e.text);
        return TOOL_FAILURE;
    }
    streams_close(x->streams);
    return TOOL_OK;
}

static bool meet(const struct export_options *o, const struct rt_run *run)
{
    static char name[PATH_MAX];
    struct rt_error e = {{0}};
    bool to_stdout = strcmp(o->out, "-") == 0;
    output_name(name, to_stdout ? NULL : o->out, rt_run_dir(run), "-csv");
    output_catch_signals();
    if (joint_count() == 1 || joint_meet(name, &e) == 0)
        return true;
    tool_error("export", "%s", e.text);
    return false;
}

static int export_run(const struct export_options *o, const struct rt_run *run)
{
    static struct export x;
    int code;
    if (!meet(o, run))
        return TOOL_FAILURE;
    if (!joint_is_first() && !o->format->shares_text && !o->format->shares_files)
        return read_part(&x, o, run);
    if (export_open(&x, run, o) != 0) {
        tool_error("export", "%s", x.e.text);
        code = TOOL_FAILURE;
    } else if (x.count == 0 && x.tally.files_left_out == 0) {
        tool_error("export", "none of the ranks asked for (-rank) is in %s", o->path);
        code = TOOL_FAILURE;
    } else if (x.count == 0) {
        code = TOOL_FAILURE;
    } else {
        code = export_to(&x, o);
    }
    export_close(&x);
    return code;
}

/* Raises the limit of open files to its maximum: some formats have a file for each thread, and each
 * rank file has a reader. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int export_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_export, .count = argc, .words = argv, .next = 1};
    static struct export_options o;
    joint_enter();
    o.wait = 30;
    o.to_ns = INT64_MAX;
    int code;
    if (!arguments_one_folder(&a, take_option, &o, "-chrome FILE DIR", &o.path, &code))
        return joint_end(code);
    if (!options_are_right(&o))
        return joint_end(TOOL_USAGE);
    if (o.format == &export_otf2 && export_otf2_lack() != NULL) {
        tool_error("export", "%s", export_otf2_lack());
        return joint_end(TOOL_FAILURE);
    }
    struct rt_run *run = tool_open_run("export", o.path, o.wait);
    if (run == NULL)
        return joint_end(TOOL_FAILURE);
    allow_many_files();
    code = export_run(&o, run);
    rt_run_close(run);
    return joint_end(output_finish("export", code));
}

static const struct command_option export_options[] = {
    {"chrome", "FILE", "JSON trace events, for ui.perfetto.dev and chrome://tracing", 0},
    {"otf2", "DIR", "an OTF2 archive (traces.otf2 in that new folder), for Vampir and others", 0},
    {"ovni", "DIR", "a trace for ovniemu 1.14, in that new folder", 0},
    {"csv", "FILE", "one line an event; - is standard output", 0},
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"window", "N[-M]", "only events of the windows with these ordinals", 'w'},
    {"from", "SECONDS", "only from there on, in seconds since the run began", 0},
    {"to", "SECONDS", "only up to there, likewise", 0},
    {"messages", "WHICH", "all (the default), or none", 0},
    {"force", NULL, "replace OUT, or FILE, if it is there, once the new one is whole", 'f'},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_export = {
    .name = "export",
    .summary = "write a run in the format of another tool",
    .synopsis = "--chrome FILE|--otf2 OUT|--ovni OUT|--csv FILE [--rank LIST] [--window N[-M]] "
                "[--from SECONDS] [--to SECONDS] [--messages WHICH] [--force] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. Times are those of "
        "`regtrace dump`: since the first thread of any rank began to be traced, the clocks of "
        "several nodes aligned. The same run gives the same bytes each time.\n\n"
        "--chrome, --otf2 and --ovni show spans: windows, regions, pushed marks, MPI calls, "
        "functions, and handlers of signals. Each is begun and ended: those that are open at the "
        "edges of the selection there, those without an end (a killed process, dropped events) "
        "where they were over at the latest; a warning has their number. A span that goes on "
        "beyond the "
        "one that it began in is written in pieces. Counters become counters (OTF2: metrics; ovni: "
        "marks).\n\n"
        "--chrome and --otf2 show messages from the call that sends to where they are received, if "
        "both ends are in windows and in the selection; what has no partner is counted, by reason. "
        "For these the run is read twice.\n\n"
        "--otf2: threads are locations, processes location groups, hosts the system tree; blocking "
        "collective operations are recorded as such if the communicator is known on all of its "
        "ranks, all of them are exported, and it has one group.\n\n"
        "--ovni: MPI calls are M events where ovni has the function, which it does of 49; all "
        "others are left out, and counted. Everything else becomes marks.\n\n"
        "--csv is what was recorded, nothing added: ns, rank, pid, thread, window (empty outside), "
        "cpu, name, label, flags, the fields peer, tag, bytes, comm, request, region, address, "
        "address_name, type, value, event and count where the event has them, and in `fields` the "
        "others as key=value, separated by semicolons. In texts control characters, and in "
        "`fields` semicolons, are \\xNN, and backslashes doubled." PARTS_DESCRIPTION,
    .options = export_options,
    .examples = "regtrace export --chrome trace.json trace\n"
                "regtrace export --otf2 trace.otf2 --window 3 trace && otf2-print "
                "trace.otf2/traces.otf2\n"
                "regtrace export --csv - --rank 0 --from 1.5 --to 2 trace",
    .exits = "0 fine, 1 a file could not be read or written, 2 wrong usage.",
    .main = export_main,
};
