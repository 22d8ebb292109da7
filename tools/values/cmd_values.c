/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace values`: lists the most frequent values of captured instructions. */
#include "tools/output.h"
#include "tools/open_run.h"
#include "tools/values/value_profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_FOLDERS 1024

struct values_command {
    struct values_options show;
    struct rank_list ranks;
    const char *plugin, *difference, *output;
    bool force;
    uint64_t wait;
    bool least;      /* -least was given */
    size_t matching; /* files of the current run that -rank selects */
    regex_t function;
    const char *folders[MOST_FOLDERS];
    size_t folder_count;
    struct file_identity *files; /* files of the current profile */
    size_t file_count;
};

struct file_identity {
    dev_t device;
    ino_t number;
};

static bool percent(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0 && *out <= 100;
}

static bool take_by(struct values_command *w, const char *v)
{
    bool image = strcmp(v, "image") == 0;
    w->show.by = image ? VALUES_BY_IMAGE : VALUES_BY_PROCEDURE;
    return image || strcmp(v, "procedure") == 0;
}

static bool take_function(struct values_command *w, const char *v)
{
    char why[200];
    int rc = regcomp(&w->function, v, REG_EXTENDED | REG_NOSUB);
    if (rc == 0) {
        w->show.function = &w->function;
        return true;
    }
    (void)regerror(rc, &w->function, why, sizeof why);
    tool_error("values", "-function is \"%s\": %s", v, why);
    return false;
}

static int take_option(struct values_command *w, const struct arguments *a)
{
    struct rt_error e = {{0}};
    const char *name = a->option->name, *v = a->value;
    if (strcmp(name, "function") == 0)
        return take_function(w, v) ? TOOL_OK : TOOL_USAGE;
    if (strcmp(name, "by") == 0 && !take_by(w, v))
        tool_error("values", "-by is \"%s\": image and procedure are legal", v);
    else if (strcmp(name, "cut") == 0 && !percent(v, &w->show.cut))
        tool_error("values", "-cut is \"%s\": a percentage from 0 to 100 is legal", v);
    else if (strcmp(name, "most") == 0 && argument_number(v, 0, 1000000, &w->show.most) != 0)
        tool_error("values", "-most is \"%s\": a number is legal, 0 for all", v);
    else if (strcmp(name, "least") == 0 && argument_number(v, 1, UINT32_MAX, &w->show.least) != 0)
        tool_error("values", "-least is \"%s\": a number of values from 1 on is legal", v);
    else if (strcmp(name, "rank") == 0 && rank_list_parse(&w->ranks, v, &e) != 0)
        tool_error("values", "-rank: %s", e.text);
    else if (strcmp(name, "wait") == 0 && argument_number(v, 0, 86400, &w->wait) != 0)
        tool_error("values", "-wait is \"%s\": seconds from 0 to 86400 are legal", v);
    else {
        w->least |= strcmp(name, "least") == 0;
        w->plugin = strcmp(name, "plugin") == 0 ? v : w->plugin;
        w->difference = strcmp(name, "diff") == 0 ? v : w->difference;
        w->output = strcmp(name, "output") == 0 ? v : w->output;
        w->force |= strcmp(name, "force") == 0;
        w->show.invariant |= strcmp(name, "invariant") == 0;
        w->show.contexts |= strcmp(name, "contexts") == 0;
        w->show.arguments |= strcmp(name, "args") == 0;
        w->show.json |= strcmp(name, "json") == 0;
        return TOOL_OK;
    }
    return TOOL_USAGE;
}

/* Returns why the options exclude each other; NULL: they do not. */
static const char *contradiction(const struct values_command *w)
{
    const struct values_options *s = &w->show;
    if (w->difference != NULL && (s->json || s->arguments || s->invariant || s->contexts))
        return "-diff compares all instructions: it goes with -by, not with -json, -args, "
               "-invariant "
               "or -contexts";
    if (s->by != VALUES_BY_INSTRUCTION && (s->arguments || s->invariant || s->contexts))
        return "-by lists no values: it does not go with -args, -invariant or -contexts";
    if (s->arguments && (s->invariant || s->contexts))
        return "-args lists no instructions: it does not go with -invariant or -contexts";
    if (w->output != NULL && (w->difference != NULL || s->json || s->arguments || s->contexts ||
                              s->by != VALUES_BY_INSTRUCTION || w->plugin != NULL))
        return "-output writes all values and contexts to a file: it does not go with -diff, "
               "-json, "
               "-args, -contexts, -by or -plugin";
    if (w->force && w->output == NULL)
        return "-force belongs to -output";
    if (w->least && !s->invariant)
        return "-least belongs to -invariant";
    return NULL;
}

/* Parses all arguments. Returns -1 to go on, or the exit code. */
static int take_arguments(struct values_command *w, struct arguments *a)
{
    for (enum argument_kind kind; (kind = arguments_next(a)) != ARGUMENT_END;) {
        if (kind == ARGUMENT_DONE)
            return TOOL_OK;
        if (kind == ARGUMENT_WRONG || (kind == ARGUMENT_OPTION && take_option(w, a) != TOOL_OK))
            return TOOL_USAGE;
        if (kind != ARGUMENT_WORD)
            continue;
        if (w->folder_count == MOST_FOLDERS) {
            tool_error("values", "more than %d folders", MOST_FOLDERS);
            return TOOL_USAGE;
        }
        w->folders[w->folder_count++] = a->value;
    }
    if (w->folder_count == 0)
        tool_error("values", "no folder is named: regtrace values DIR");
    else if (contradiction(w) != NULL)
        tool_error("values", "%s", contradiction(w));
    else
        return -1;
    return TOOL_USAGE;
}

/* Refuses a file that was named before, by whatever path, because it would count twice. */
static int remember(struct values_command *w, const struct rt_run *run, size_t file,
                    struct rt_error *e)
{
    struct stat st;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", rt_run_dir(run), rt_run_file(run, file)) >=
            (int)sizeof path ||
        stat(path, &st) != 0)
        return 0; /* opening it reports the error, or finds its new name */
    for (size_t i = 0; i < w->file_count; i++) {
        if (w->files[i].device == st.st_dev && w->files[i].number == st.st_ino) {
            rt_error_set(e, "is named twice, and would count twice: name each run once");
            return -EINVAL;
        }
    }
    struct file_identity *more = realloc(w->files, (w->file_count + 1) * sizeof *more);
    if (more == NULL) {
        rt_error_set(e, "out of memory");
        return -ENOMEM;
    }
    w->files = more;
    more[w->file_count++] = (struct file_identity){st.st_dev, st.st_ino};
    return 0;
}

static bool add_file(struct values_profile *p, struct values_command *w, const struct rt_run *run,
                     size_t i)
{
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    int rc = remember(w, run, i, &e);
    if (rc == 0)
        rc = rt_rank_open(&rank, run, i, &e);
    if (rc == 0 && rank_list_has(&w->ranks, rt_rank_info(rank)->rank)) {
        w->matching++;
        rc = values_collect(p, rank, w->show.arguments, &e);
        if (rc == 0)
            rc = values_take_counters(p, rank, &e);
    }
    if (rc != 0)
        tool_error("values", "%s: %s", rt_run_file(run, i), e.text);
    rt_rank_close(rank);
    return rc == 0;
}

/* Returns false for those of the toolkit's plug-ins whose values would be mistaken for
 * arguments. */
static bool has_arguments(const char *plugin)
{
    static const char *const others[] = {"vp-addr", "addr", "vp-classic", "classic"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(plugin, others[i]) == 0)
            return false;
    return true;
}

static bool is_of_use(const struct values_profile *p, const struct values_command *w,
                      const char *path)
{
    if (w->matching == 0)
        tool_error("values", "%s has no rank of those that -rank names", path);
    else if (p->plugin[0] == '\0')
        tool_error("values",
                   "%s has no values: the run did not ask for any (-values vp-addr, or "
                   "REGTRACE_VALUES)",
                   path);
    else if (w->show.arguments && !has_arguments(p->plugin))
        tool_error("values",
                   "%s has values of %s: -args lists what vp-args captures (regtrace run "
                   "-values vp-args)",
                   path, p->plugin);
    else
        return true;
    return false;
}

static bool add_run(struct values_profile *p, struct values_command *w, const char *path)
{
    struct progress shown;
    bool good = true;
    struct rt_run *run = tool_open_run("values", path, w->wait);
    if (run == NULL)
        return false;
    w->matching = 0;
    progress_begin(&shown, "reading values");
    for (size_t i = 0; i < rt_run_count(run); i++) {
        good &= add_file(p, w, run, i);
        progress_update(&shown, i + 1, rt_run_count(run));
    }
    progress_end(&shown);
    good = good && is_of_use(p, w, path);
    rt_run_close(run);
    return good;
}

static bool resolve(struct values_profile *p, const struct values_command *w)
{
    if (values_resolve(p, w->show.contexts) == 0)
        return true;
    tool_error("values", "out of memory");
    return false;
}

/* Does not load a plug-in by a path that stands in a file: another user may have written the
 * file. */
static bool begin_format(struct values_format *f, const struct values_command *w,
                         const struct values_profile *p)
{
    bool own = w->plugin == NULL, none = !own && strcmp(w->plugin, "none") == 0;
    const char *plugin = own ? p->plugin : w->plugin;
    values_format_begin(f, none || (own && !values_is_name(plugin)) ? NULL : plugin);
    if (!own && !none && f->pid == 0) {
        tool_error("values",
                   "-plugin is \"%s\", which writes no values: %s; without -plugin it is the "
                   "run's own, -plugin none writes them in hexadecimal",
                   plugin, f->why.text);
        return false;
    }
    if (own && !values_is_name(plugin))
        rt_error_set(&f->why, "the plug-in was named by a path, which is not followed; -plugin "
                              "PATH names it again");
    return true;
}

static bool write_profile(struct values_profile *p, const struct values_command *w)
{
    static const struct output_kind kind = {.option = "output"};
    struct rt_error e = {{0}};
    struct output o;
    uint64_t instructions = 0, values = 0;
    int rc = output_begin(&o, w->output, &kind, w->force, &e);
    if (rc == 0) {
        rc = values_write_profile(o.working, p, &w->show, &instructions, &values, &e);
        rc = output_end(&o, rc, &e);
    }
    if (rc != 0)
        tool_error("values", "%s", e.text);
    else
        (void)printf("%s: %" PRIu64 " values of %" PRIu64 " instructions, %" PRIu64 " process%s\n",
                     w->output, values, instructions, p->ranks, p->ranks == 1 ? "" : "es");
    return rc == 0;
}

/* Refuses to compare values of two plug-ins, which mean different things. */
static bool same_plugin(const struct values_profile *p, const struct values_profile *other,
                        const struct values_command *w)
{
    bool same =
        p->plugin[0] == '\0' || other->plugin[0] == '\0' || strcmp(p->plugin, other->plugin) == 0;
    if (!same)
        tool_error("values",
                   "%s has values of the plug-in %s, what it is compared with of %s: runs of one "
                   "plug-in are legal",
                   w->difference, other->plugin, p->plugin);
    return same;
}

static int values_run(struct values_command *w)
{
    struct values_profile p = {0}, other = {0};
    struct values_format f = {0};
    bool good = true;
    for (size_t i = 0; i < w->folder_count && good; i++)
        good = add_run(&p, w, w->folders[i]);
    w->file_count = 0;
    if (good && w->difference != NULL)
        good =
            add_run(&other, w, w->difference) && same_plugin(&p, &other, w) && resolve(&other, w);
    w->show.contexts |= w->output != NULL;
    good = good && resolve(&p, w);
    if (good && w->output != NULL) {
        good = write_profile(&p, w);
    } else if (good && (good = begin_format(&f, w, &p))) {
        if (w->difference != NULL)
            values_print_difference(stdout, &p, &other, &w->show, &f);
        else if (w->show.json)
            values_print_json(stdout, &p, &w->show, &f);
        else
            values_print_text(stdout, &p, &w->show, &f);
        values_format_end(&f);
        good = !p.no_memory;
        if (!good)
            tool_error("values", "out of memory: the list is incomplete");
    }
    values_profile_free(&p);
    values_profile_free(&other);
    free(w->files);
    return good ? TOOL_OK : TOOL_FAILURE;
}

static int values_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_values, .count = argc, .words = argv, .next = 1};
    static struct values_command w;
    w = (struct values_command){.wait = 30, .show = {.cut = 1, .most = 8, .least = 100}};
    int code = take_arguments(&w, &a);
    if (code < 0)
        code = output_finish("values", values_run(&w));
    if (w.show.function != NULL)
        regfree(&w.function);
    return code;
}

static const struct command_option values_options[] = {
    {"by", "image|procedure", "how often instructions of each were captured, without values", 0},
    {"function", "REGEX", "only functions whose name the extended regular expression fits", 'f'},
    {"cut", "PERCENT", "leave out values that are rarer than this (default 1)", 0},
    {"most", "N", "values of an instruction at most, 0 for all (default 8)", 'n'},
    {"invariant", NULL, "only instructions with the same value in 99 % of the cases", 0},
    {"least", "N", "with -invariant: of so many values at least (default 100)", 0},
    {"args", NULL, "arguments and return values of functions, of runs with vp-args", 0},
    {"contexts", NULL, "values with the same value and other contexts (-vcontext) apart", 0},
    {"diff", "DIR2", "what differs in that run", 0},
    {"plugin", "NAME|PATH|none",
     "the plug-in that writes the values (default: the run's, by its name); none: hexadecimal", 0},
    {"output", "FILE", "write all of the merged profile to an HDF5 file, and list nothing", 'o'},
    {"force", NULL, "replace FILE if it is there", 0},
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"json", NULL, "for programs", 0},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_values = {
    .name = "values",
    .summary = "list the most frequent values of registers and addresses",
    .synopsis = "[-by image|procedure] [-function REGEX] [-cut PERCENT] [-most N] [-invariant] "
                "[-args] [-diff DIR2] [-plugin NAME|PATH|none] [-json] [-output FILE [-force]] "
                "DIR...",
    .description =
        "DIR is the folder of a run with value profiling (regtrace run -values PLUG-IN), its "
        "regtrace.h5, or one rank file. Several are merged, as are all threads and ranks: by image "
        "(its path and build id) and place in it.\n\n"
        "Each function has its captured instructions in the order of their addresses: how often, "
        "offset from the image's load address, code, source line; below what the plug-in calls the "
        "values, the most frequent ones with their share, and how many there were. A share with ~ "
        "is an estimate, from a sample of the values of an instruction that had more than 64 "
        "different ones; without ~ it is exact for the samples that there are. How often the "
        "instruction ran with that value the samples only let one estimate.\n\n"
        "Names and source lines are of the images as they are now on this machine, where their "
        "build ids still fit. The plug-in runs in a process of its own (regtrace-vprofiler); one "
        "that was given to the run by a path is not loaded again from there: -plugin says where it "
        "is. Without it values are hexadecimal.\n\n"
        "Cycles per instruction (CPI) are those of the run's windows, where these counted both "
        "(-events cycles,instructions): counters are read at window edges, not by instruction. "
        "Where values were sampled by cycles, the periods that -by shows are such cycles.",
    .options = values_options,
    .examples = "regtrace run -values vp-addr -values-follow 8 -o trace -- ./app\n"
                "regtrace values trace\n"
                "regtrace values -function '^solve' -most 3 trace\n"
                "regtrace values -invariant -least 1000 trace\n"
                "regtrace values -diff slower trace\n"
                "regtrace values -output profile.h5 monday tuesday",
    .exits = "0 fine, 1 there are no values or a file could not be read, 2 wrong usage.",
    .main = values_main,
};
