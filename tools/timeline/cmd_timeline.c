/* SPDX-License-Identifier: BSD-3-Clause
 * Implements `regtrace timeline`: shows a run as a page for browsers or as a picture. */
#include "tools/streams/joint_processes.h"
#include "tools/output.h"
#include "tools/channels/replay_options.h"
#include "tools/timeline/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct timeline_command {
    struct conversion replay;
    struct timeline_options options;
    const char *svg, *png;
};

/* A file to write. */
struct target {
    const char *path; /* NULL: not requested */
    const char *option;
    int (*write)(struct timeline *t, FILE *out, struct rt_error *e);
    struct output_kind kind;
    struct output output;
    FILE *file;
};

static bool take_seconds(const char *option, const char *text, int64_t *ns)
{
    char *end;
    errno = 0;
    double seconds = strtod(text, &end);
    if (errno == 0 && end != text && *end == '\0' && seconds >= 0 && seconds <= 9e9) {
        *ns = llround(seconds * 1e9);
        return true;
    }
    tool_error("timeline",
               "-%s is \"%s\": seconds since the run's first event are legal, for example 1.25",
               option, text);
    return false;
}

static int take_option(void *options, const struct arguments *a)
{
    struct timeline_command *command = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    bool good = true;
    if (strcmp(name, "svg") == 0 || strcmp(name, "png") == 0) {
        *(name[0] == 's' ? &command->svg : &command->png) = a->value;
        good = a->value[0] != '\0';
        if (!good)
            tool_error("timeline", "-%s is empty: the name of a new file is legal", name);
    } else if (strcmp(name, "from") == 0) {
        good = take_seconds("from", a->value, &command->options.from);
    } else if (strcmp(name, "to") == 0) {
        good = take_seconds("to", a->value, &command->options.to);
    } else if (strcmp(name, "most") == 0) {
        good = argument_number(a->value, 0, UINT32_MAX, &command->options.most) == 0;
        if (!good)
            tool_error("timeline", "-most is \"%s\": a number from 0 to %" PRIu32 " is legal",
                       a->value, UINT32_MAX);
    } else if (strcmp(name, "rows") == 0) {
        command->options.processors = strcmp(a->value, "processors") == 0;
        good = command->options.processors || strcmp(a->value, "threads") == 0;
        if (!good)
            tool_error("timeline", "-rows is \"%s\": threads and processors are legal", a->value);
    } else if (strcmp(name, "window") == 0) {
        good = window_span_parse(&command->options.windows, a->value, &e) == 0;
        if (!good)
            tool_error("timeline", "-window: %s", e.text);
    } else {
        return replay_take_option(&command->replay, a);
    }
    return good ? TOOL_OK : TOOL_USAGE;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool create(struct target *t, bool force)
{
    struct rt_error e = {{0}};
    t->kind = (struct output_kind){.option = t->option};
    if (output_open_file(&t->output, t->path, &t->kind, force, &t->file, &e) == 0)
        return true;
    tool_error("timeline", "%s", e.text);
    return false;
}

static bool write_target(struct target *t, struct timeline *timeline)
{
    struct rt_error e = {{0}};
    int64_t bytes;
    int rc = t->write(timeline, t->file, &e);
    rc = output_close_file(&t->output, t->file, rc, &bytes, &e);
    t->file = NULL;
    if (rc == 0)
        (void)printf("%s: %" PRId64 " bytes\n", t->path, bytes);
    else
        tool_error("timeline", "%s", e.text);
    return rc == 0;
}

static int write_targets(struct timeline *t, const struct replay_found *found, uint64_t most,
                         struct target targets[3])
{
    int64_t from, to;
    if (!timeline_span(t, &from, &to)) {
        tool_error("timeline", "nothing is there to be shown%s",
                   found->events != 0 ? " of what -window, -from and -to leave" : "");
        return TOOL_FAILURE;
    }
    (void)printf("%" PRIu64 " events, %" PRIu64 " boxes, ticks and points from %.9f to %.9f s\n",
                 found->events, timeline_items(t), (double)from * 1e-9, (double)to * 1e-9);
    for (unsigned i = 0; i < 3; i++)
        if (targets[i].file != NULL && !write_target(&targets[i], t))
            return TOOL_FAILURE;
    if (targets[0].path != NULL && !timeline_is_exact(t))
        tool_warning("timeline",
                     "more than %" PRIu64
                     " of them: the page has summaries of time where there are many; "
                     "-window, -from with -to, or -rank make one with all that is in a part, "
                     "-most COUNT a larger one",
                     most);
    if (found->wrong == 0)
        return TOOL_OK;
    tool_warning("timeline",
                 "%" PRIu64 " events could not be right; what they leave unknown is marked",
                 found->wrong);
    return TOOL_FAILURE;
}

static int make_pictures(struct timeline_command *command, struct event_replay *r,
                         struct target targets[3])
{
    struct timeline *t = NULL;
    struct replay_found found;
    struct rt_error e = {{0}};
    char dir[PATH_MAX];
    int code = TOOL_OK;
    for (unsigned i = 0; i < 3 && code == TOOL_OK; i++)
        if (targets[i].path != NULL && !create(&targets[i], command->replay.force))
            code = TOOL_FAILURE;
    for (unsigned i = 3; i-- > 0;)
        if (targets[i].path != NULL)
            output_folder_of(dir, targets[i].path);
    if (code == TOOL_OK && timeline_collect(&t, r, &command->options, dir, &found, &e) != 0) {
        tool_error("timeline", "%s", e.text);
        code = TOOL_FAILURE;
    }
    if (code == TOOL_OK)
        code = write_targets(t, &found, command->options.most, targets);
    for (unsigned i = 0; i < 3; i++)
        if (targets[i].file != NULL) {
            (void)fclose(targets[i].file);
            (void)!output_end(&targets[i].output, -ECANCELED, NULL);
        }
    timeline_close(t);
    return code;
}

/* Does a file name end as pictures do that timeline does not make? */
static bool is_other_picture(const char *dot)
{
    static const char *const others[] = {".pdf",  ".ps",  ".eps", ".jpg",
                                         ".jpeg", ".gif", ".tif", ".webp"};
    for (size_t i = 0; dot != NULL && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(dot, others[i]) == 0)
            return true;
    return false;
}

/* Treats -output x.svg as -svg x.svg, and -output x.png as -png x.png. */
static bool take_ending(struct timeline_command *command)
{
    const char *dot = command->replay.out != NULL ? strrchr(command->replay.out, '.') : NULL;
    if (is_other_picture(dot)) {
        tool_error("timeline",
                   "-output is %s: a page, FILE.html, and the pictures FILE.svg and FILE.png "
                   "are legal; rsvg-convert and inkscape make PDF of SVG",
                   command->replay.out);
        return false;
    }
    const char **picture = dot == NULL                    ? NULL
                           : strcasecmp(dot, ".svg") == 0 ? &command->svg
                           : strcasecmp(dot, ".png") == 0 ? &command->png
                                                          : NULL;
    if (picture == NULL)
        return true;
    if (*picture != NULL) {
        tool_error("timeline",
                   "-output %s and -%s %s are two pictures of one kind: leave one out, or name "
                   "the page FILE.html",
                   command->replay.out, picture == &command->svg ? "svg" : "png", *picture);
        return false;
    }
    *picture = command->replay.out;
    command->replay.out = NULL;
    return true;
}

/* Refuses a picture whose name ends as files of another kind do. */
static bool check_ending(const char *option, const char *path)
{
    const char *dot = path != NULL ? strrchr(path, '.') : NULL;
    bool other = dot != NULL && strcasecmp(dot + 1, option) != 0 &&
                 (is_other_picture(dot) || strcasecmp(dot, ".svg") == 0 ||
                  strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".html") == 0);
    if (other)
        tool_error("timeline", "-%s is %s: a name that ends in .%s is legal", option, path, option);
    return !other;
}

static bool are_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Checks the names of all files that are to be made. */
static bool check_files(const struct timeline_command *command)
{
    const char *page = command->replay.out;
    if (are_same(command->svg, command->png) || are_same(page, command->svg) ||
        are_same(page, command->png)) {
        tool_error("timeline", "two of -output, -svg and -png name the same file");
        return false;
    }
    return check_ending("svg", command->svg) && check_ending("png", command->png);
}

static int timeline_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_timeline, .count = argc, .words = argv, .next = 1};
    static struct timeline_command command;
    static char out[PATH_MAX];
    struct rt_run *run;
    struct event_replay *replay;
    int code;
    joint_enter();
    command = (struct timeline_command){.replay = {.command = "timeline", .wait = 10},
                                        .options = {.to = INT64_MAX, .most = 4194304}};
    if (!arguments_one_folder(&a, take_option, &command, "DIR", &command.replay.path, &code))
        return joint_end(code);
    if (!take_ending(&command) || !check_files(&command))
        return joint_end(TOOL_USAGE);
    if (command.options.from >= command.options.to) {
        tool_error("timeline", "-from is not before -to: nothing lies between them");
        return joint_end(TOOL_USAGE);
    }
    const char *picture = command.svg != NULL ? command.svg : command.png;
    if (command.options.processors && command.svg == NULL && command.png == NULL) {
        tool_error("timeline", "-rows is of pictures: give -svg or -png too; the page has rows "
                               "of processors after its key c");
        return joint_end(TOOL_USAGE);
    }
    code = replay_begin(&command.replay, command.replay.out != NULL ? command.replay.out : picture,
                        ".html", &run, &replay);
    if (code != TOOL_OK)
        return joint_end(code);
    bool page = command.replay.out != NULL || (command.svg == NULL && command.png == NULL);
    output_name(out, command.replay.out, rt_run_dir(run), ".html");
    struct target targets[3] = {
        {.path = page ? out : NULL, .option = "output", .write = timeline_write_page},
        {.path = command.svg, .option = "svg", .write = timeline_write_svg},
        {.path = command.png, .option = "png", .write = timeline_write_png}};
    const char *slash = strrchr(command.replay.path, '/');
    command.options.title = slash != NULL && slash[1] != '\0' ? slash + 1 : command.replay.path;
    command.options.salvaged = command.replay.options.policy == EMU_SALVAGE;
    if (joint_is_first()) /* the other processes have read their part of the run for it */
        code = make_pictures(&command, replay, targets);
    replay_close(replay);
    rt_run_close(run);
    return joint_end(output_finish("timeline", code));
}

static const struct command_option timeline_options[] = {
    {"output", "FILE",
     "the new page (default: the run's name with .html after it; none where -svg or -png alone is "
     "given); a FILE that ends in .svg or .png is a picture",
     'o'},
    {"svg", "FILE", "a picture for papers, as SVG", 0},
    {"png", "FILE", "a picture as PNG, by libcairo, which must be installed (Debian: libcairo2)",
     0},
    {"rows", "WHAT",
     "rows of pictures: threads (the default), or processors with the threads that ran there; "
     "pages have a switch",
     0},
    {"window", "N[-M]", "only what lies in these windows", 0},
    {"from", "SECONDS", "leave out what lies before, from the run's first event on", 0},
    {"to", "SECONDS", "leave out what lies after", 0},
    {"most", "COUNT",
     "calls, functions ... that the page has each of; where there are more it has summaries of "
     "small spans of time (default 4194304)",
     0},
#include "tools/channels/replay_options.def"
    {NULL, NULL, NULL, 0},
};

const struct command command_timeline = {
    .name = "timeline",
    .summary = "show a run as a page or a picture of time lines",
    .synopsis = "[--output FILE] [--svg FILE] [--png FILE] [--rows WHAT] [--force] [--window "
                "N[-M]] [--from SECONDS] "
                "[--to SECONDS] [--most COUNT] [--policy POLICY] [--cpu WHERE] [--rank LIST] "
                "[--messages WHICH] [--wait SECONDS] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. The page is one file that "
        "a "
        "browser opens without a network: ranks and threads as rows, and in them windows, regions, "
        "MPI calls, functions of the program, marks, counters, samples and alarms, and messages as "
        "lines on demand. It is zoomed by the wheel and the keys + and -, moved by dragging and "
        "the "
        "arrows; c shows processors and who ran there; dragging on the ruler selects a time, of "
        "which the times of each MPI function and "
        "each rank are shown; names are searched; ? shows all keys.\n\n"
        "Pictures have all lanes of up to 16 threads, else a line for each; where windows are a "
        "small "
        "part of the run, the picture is of their time, else of all, or of what -window, -from and "
        "-to say.\n\n"
        "A page has each call with its exact times, up to -most of them in all (calls, functions, "
        "regions ...); where there are more it has summaries of small spans of time, and says "
        "so.\n\n"
        "A file has another name, FILE.unfinished-PID, until it is whole. The same run gives the "
        "same files, byte by byte." PARTS_DESCRIPTION,
    .options = timeline_options,
    .examples = "regtrace timeline trace && xdg-open trace.html\n"
                "regtrace timeline --window 3 -o window-3.html trace\n"
                "regtrace timeline --from 1.5 --to 1.75 --svg figure.svg trace",
    .exits =
        "0 fine, 1 the run is not whole or something could not be right, or a file could not be "
        "read or written, 2 wrong usage.",
    .main = timeline_main,
};
