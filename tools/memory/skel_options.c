/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the options of `regtrace skel` and checks them against the action. */
#include "base/options.h"
#include "tools/memory/skel_command.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

const char *const skel_actions[SKEL_ACTIONS] = {[SKEL_ANALYZE] = "analyze",
                                                [SKEL_SOURCE] = "source",
                                                [SKEL_REPLAY] = "replay",
                                                [SKEL_STATS] = "stats"};

enum { JOBS_MOST = 4096 };

#define FOR(action) (1u << SKEL_##action)

static int wrong(struct rt_error *e, const char *option, const char *value, const char *legal)
{
    rt_error_set(e, "-%s is \"%s\": %s", option, value, legal);
    return -EINVAL;
}

static int take_rank(struct skel_options *o, const char *v, struct rt_error *e)
{
    int rc = rank_list_parse(&o->ranks, v, e);
    if (rc != 0)
        rt_error_prefix(e, "-rank");
    return rc;
}

static int take_window(struct skel_options *o, const char *v, struct rt_error *e)
{
    int rc = window_span_parse(&o->windows, v, e);
    if (rc != 0)
        rt_error_prefix(e, "-window");
    return rc;
}

static int take_thread(struct skel_options *o, const char *v, struct rt_error *e)
{
    uint64_t n;
    if (argument_number(v, 0, UINT32_MAX, &n) != 0)
        return wrong(e, "thread", v, "the number of a thread is legal, as in regtrace report");
    o->thread = (int64_t)n;
    return 0;
}

/* Formats of each action; both have "text". */
static const struct {
    enum skel_action action;
    const char *names[6];
} formats[] = {{SKEL_REPLAY, {"text", "lackey", "count", "binary", "hdf5"}},
               {SKEL_STATS, {"text", "json", "csv"}}};

/* Returns the string of formats[k] that equals `name`, or NULL if that action lacks the format. */
static const char *find_format(unsigned k, const char *name)
{
    const char *const *f = formats[k].names;
    while (*f != NULL && strcmp(*f, name) != 0)
        f++;
    return *f;
}

static int take_format(struct skel_options *o, const char *v, struct rt_error *e)
{
    for (unsigned k = 0; k < sizeof formats / sizeof *formats; k++)
        if ((o->format = find_format(k, v)) != NULL)
            return 0;
    return wrong(e, "format", v,
                 "text, lackey, count, binary or hdf5 is legal, of skel stats text, json or csv");
}

/* Takes a power of two. */
static int take_size(const char *option, const char *v, uint64_t least, uint64_t most,
                     uint64_t *out, struct rt_error *e)
{
    if (argument_number(v, least, most, out) == 0 && (*out & (*out - 1)) == 0)
        return 0;
    rt_error_set(e, "-%s is \"%s\": a power of two from %" PRIu64 " to %" PRIu64 " is legal",
                 option, v, least, most);
    return -EINVAL;
}

static int take_line(struct skel_options *o, const char *v, struct rt_error *e)
{
    return take_size("line", v, 8, 4096, &o->line_bytes, e);
}

static int take_page(struct skel_options *o, const char *v, struct rt_error *e)
{
    return take_size("page", v, 64, UINT64_C(1) << 30, &o->page_bytes, e);
}

static int take_jobs(struct skel_options *o, const char *v, struct rt_error *e)
{
    if (argument_number(v, 1, JOBS_MOST, &o->jobs) == 0)
        return 0;
    rt_error_set(e, "-jobs is \"%s\": a number of processes from 1 to %d is legal", v, JOBS_MOST);
    return -EINVAL;
}

static int take_output(struct skel_options *o, const char *v, struct rt_error *e)
{
    o->output = v;
    return v[0] != '\0' ? 0 : wrong(e, "output", v, "the name of a file is legal");
}

static int take_compress(struct skel_options *o, const char *v, struct rt_error *e)
{
    return argument_number(v, 0, 9, &o->compress) == 0
               ? 0
               : wrong(e, "compress", v, "a number from 0 to 9 is legal");
}

static int take_function(struct skel_options *o, const char *v, struct rt_error *e)
{
    regex_t pattern;
    if (v[0] == '\0' || regcomp(&pattern, v, REG_EXTENDED | REG_NOSUB) != 0)
        return wrong(e, "function", v, "an extended regular expression is legal");
    regfree(&pattern);
    o->function = v;
    return 0;
}

/* Takes the same values as regtrace run -memory-plan. */
static int take_plan(struct skel_options *o, const char *v, struct rt_error *e)
{
    struct option_row row = option_table[OPT_memory_plan];
    uint64_t n;
    o->plan = v;
    if (v[0] != '\0' && option_check(&row, v, &n, e) == 0)
        return 0;
    rt_error_set(e, "-plan is \"%s\": legal is %s", v, row.values);
    return -EINVAL;
}

#define FLAG(name) NULL, offsetof(struct skel_options, name)

static const struct {
    const char *name;
    unsigned actions;
    int (*take)(struct skel_options *o, const char *value, struct rt_error *e);
    size_t flag; /* if `take` is NULL: offset of a bool in struct skel_options */
} options[] = {
    {"function", FOR(ANALYZE) | FOR(SOURCE), take_function, 0},
    {"plan", FOR(ANALYZE) | FOR(SOURCE), take_plan, 0},
    {"summary", FOR(ANALYZE), FLAG(summary)},
    {"dot", FOR(ANALYZE), FLAG(dot)},
    {"rank", FOR(REPLAY) | FOR(STATS), take_rank, 0},
    {"thread", FOR(REPLAY) | FOR(STATS), take_thread, 0},
    {"window", FOR(REPLAY) | FOR(STATS), take_window, 0},
    {"format", FOR(REPLAY) | FOR(STATS), take_format, 0},
    {"jobs", FOR(REPLAY) | FOR(STATS), take_jobs, 0},
    {"line", FOR(STATS), take_line, 0},
    {"page", FOR(STATS), take_page, 0},
    {"output", FOR(REPLAY), take_output, 0},
    {"compress", FOR(REPLAY), take_compress, 0},
    {"force", FOR(REPLAY), FLAG(force)},
    {"follow", FOR(REPLAY), FLAG(follow)},
};
enum { OPTIONS = sizeof options / sizeof *options };

int skel_take_option(struct skel_options *o, const struct arguments *a)
{
    struct rt_error e = {{0}};
    for (unsigned k = 0; k < OPTIONS; k++) {
        if (strcmp(options[k].name, a->option->name) != 0)
            continue;
        o->given |= 1u << k;
        if (options[k].take == NULL)
            *(bool *)((char *)o + options[k].flag) = true;
        else if (options[k].take(o, a->value, &e) != 0)
            break;
        return TOOL_OK;
    }
    tool_error("skel", "%s", e.text);
    return TOOL_USAGE;
}

static int not_for(unsigned k, enum skel_action action)
{
    char where[64] = "";
    for (int other = SKEL_NONE + 1; other < SKEL_ACTIONS; other++)
        if ((options[k].actions >> other & 1) != 0) {
            size_t n = strlen(where);
            (void)snprintf(where + n, sizeof where - n, "%sskel %s", n != 0 ? " and " : "",
                           skel_actions[other]);
        }
    tool_error("skel", "-%s is not for skel %s: it is for %s", options[k].name,
               skel_actions[action], where);
    return TOOL_USAGE;
}

static bool is_given(const struct skel_options *o, const char *name)
{
    for (unsigned k = 0; k < OPTIONS; k++)
        if (strcmp(options[k].name, name) == 0)
            return (o->given >> k & 1) != 0;
    return false;
}

/* Returns a message about options that contradict each other or the format, or NULL if there are
 * none. */
static const char *contradiction(const struct skel_options *o)
{
    bool hdf5 = strcmp(o->format, "hdf5") == 0;
    for (unsigned k = 0; k < sizeof formats / sizeof *formats; k++)
        if (o->action == formats[k].action && find_format(k, o->format) == NULL)
            return formats[k].action == SKEL_STATS
                       ? "-format of skel stats is text, json or csv"
                       : "-format of skel replay is text, lackey, count, binary or hdf5";
    if (o->page_bytes < o->line_bytes)
        return "-page is less than -line: pages hold whole lines";
    if (hdf5 && o->output == NULL)
        return "-format hdf5 writes a file: name it by -output FILE";
    if (!hdf5 && o->output != NULL)
        return "-output is for -format hdf5: other formats go to standard output, which a shell "
               "redirects";
    if (!hdf5 && (o->force || is_given(o, "compress")))
        return "-force and -compress are for -format hdf5";
    if (o->follow && o->jobs != 0)
        return "-jobs is not for -follow, which takes as many processes as threads have open "
               "windows";
    if (o->dot && o->summary)
        return "-dot and -summary are two kinds of output: one of them is legal";
    return NULL;
}

int skel_check_options(const struct skel_options *o)
{
    for (unsigned k = 0; k < OPTIONS; k++)
        if ((o->given >> k & 1) != 0 && (options[k].actions >> o->action & 1) == 0)
            return not_for(k, o->action);
    if (contradiction(o) != NULL) {
        tool_error("skel", "%s", contradiction(o));
        return TOOL_USAGE;
    }
    return TOOL_OK;
}

size_t skel_jobs(const struct skel_options *o, size_t most)
{
    cpu_set_t set;
    size_t n = o->jobs;
    if (n == 0)
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    return n < most ? n : most;
}
