/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace plan`: turns the totals of a counting run into the chains of a run with windows. */
#include "controller/controller.h"
#include "tools/run/plan.h"
#include "tools/open_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_WINDOWS 1000000

struct plan_options {
    const char *path, *out;
    struct rank_list ranks;
    struct plan_windows plan;
    uint64_t wait;
};

struct totals {
    struct plan_rank *ranks;
    size_t count;
    int32_t size; /* of the world; -1: unknown */
    bool *seen;   /* by rank, `size` of them */
    bool failed;
};

/* Parses a number such as "10M". Suffixes are decimal, since instructions are counted in thousands,
 * unlike pages. */
static bool instructions(const char *text, uint64_t least, uint64_t *out)
{
    static const char suffixes[] = "KMGT";
    char digits[24];
    size_t n = strlen(text);
    const char *suffix = n > 1 ? strchr(suffixes, text[n - 1] & ~0x20) : NULL;
    n -= suffix != NULL;
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, text, n);
    digits[n] = '\0';
    uint64_t value, factor = 1;
    for (const char *s = suffixes; suffix != NULL && s <= suffix; s++)
        factor *= 1000;
    if (argument_number(digits, 0, INT64_MAX, &value) != 0 || value > INT64_MAX / factor ||
        value * factor < least)
        return false;
    *out = value * factor;
    return true;
}

static int take_option(void *options, const struct arguments *a)
{
    struct plan_options *o = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name, *v = a->value;
#define COUNT                                                                                      \
    "instructions as a whole number, with K, M, G or T for thousands and so on, for example "
    if (strcmp(name, "windows") == 0 &&
        (argument_number(v, 1, MOST_WINDOWS, &o->plan.windows) != 0))
        tool_error("plan", "-windows is \"%s\": a number from 1 to %d is legal", v, MOST_WINDOWS);
    else if (strcmp(name, "length") == 0 && !instructions(v, 1, &o->plan.length))
        tool_error("plan", "-length is \"%s\": legal are " COUNT "10M", v);
    else if (strcmp(name, "warmup") == 0 && !instructions(v, 0, &o->plan.warmup))
        tool_error("plan", "-warmup is \"%s\": legal are " COUNT "1M; 0 for none", v);
    else if (strcmp(name, "rank") == 0 && rank_list_parse(&o->ranks, v, &e) != 0)
        tool_error("plan", "-rank: %s", e.text);
    else if (strcmp(name, "wait") == 0 && argument_number(v, 0, 86400, &o->wait) != 0)
        tool_error("plan", "-wait is \"%s\": seconds from 0 to 86400 are legal", v);
    else if (strcmp(name, "output") == 0 && v[0] == '\0')
        tool_error("plan", "-output is empty: the name of a new file is legal");
    else {
        o->out = strcmp(name, "output") == 0 ? v : o->out;
        return TOOL_OK;
    }
#undef COUNT
    return TOOL_USAGE;
}

/* Skips files of forked children and of programs after exec: they run the chains too, but nothing
 * is planned for them. */
static bool take_file(struct totals *t, const struct plan_options *o, const struct rt_run *run,
                      size_t i)
{
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    int rc = rt_rank_open(&rank, run, i, &e);
    bool wanted = rc != 0 || (rt_rank_info(rank)->is_main || rt_run_is_one_file(run));
    wanted = wanted && (rc != 0 || rank_list_has(&o->ranks, rt_rank_info(rank)->rank));
    if (rc == 0 && rt_rank_info(rank)->size > t->size)
        t->size = rt_rank_info(rank)->size;
    if (rc == 0 && wanted)
        rc = plan_read_rank(&t->ranks[t->count], rank, &e);
    if (rc == 0 && wanted)
        t->count++;
    if (rc != 0)
        tool_error("plan", "%s: %s", rt_run_file(run, i), e.text);
    rt_rank_close(rank);
    return rc == 0;
}

static bool read_totals(struct totals *t, const struct plan_options *o, const struct rt_run *run)
{
    struct progress p;
    bool good = true;
    *t = (struct totals){.size = -1};
    t->ranks = calloc(rt_run_count(run) + 1, sizeof *t->ranks);
    if (t->ranks == NULL) {
        tool_error("plan", "no memory");
        return false;
    }
    progress_begin(&p, "reading totals");
    for (size_t i = 0; i < rt_run_count(run); i++) {
        good &= take_file(t, o, run, i);
        progress_update(&p, i, rt_run_count(run));
    }
    progress_end(&p);
    if (good && t->count == 0)
        tool_error("plan", "none of the ranks asked for (-rank) is in %s", o->path);
    return good && t->count > 0;
}

/* Refuses to plan if ranks are missing. A rank without totals would run without windows, though
 * nobody asked for that. */
static bool ranks_are_complete(const struct totals *t, const struct plan_options *o,
                               const struct rt_run *run)
{
    if (o->ranks.count > 0 || rt_run_is_one_file(run) || t->size <= 0 ||
        t->count >= (size_t)t->size)
        return true;
    tool_error("plan",
               "%s has totals of %zu of %" PRId32 " ranks; count again, or say for which ranks "
               "to plan (-rank)",
               rt_run_dir(run), t->count, t->size);
    return false;
}

/* Checks that the library will accept the chains. */
static bool chain_is_legal(const char *chains)
{
    struct rt_error e = {{0}};
    struct ctl_config *config = NULL;
    struct ctl_builder *b = ctl_builder_create(NULL, NULL);
    int rc = b != NULL ? ctl_builder_add_list(b, chains, "plan", &e) : -ENOMEM;
    if (rc == 0)
        rc = ctl_builder_finish(b, NULL, &config, &e);
    ctl_builder_free(b);
    ctl_config_free(config);
    if (rc != 0)
        tool_error("plan", "the chains would be refused: %s", e.text);
    return rc == 0;
}

static void say_group(const struct plan_options *o, const struct plan_rank *ranks,
                      const struct plan_group *g)
{
    char *list = plan_ranks_text(ranks, g), thread[40] = "";
    if (g->thread >= 0)
        (void)snprintf(thread, sizeof thread, " of thread %" PRId32, g->thread);
    (void)fprintf(stderr,
                  "rank%s %s: %" PRIu64 " to %" PRIu64 " instructions%s; %" PRIu64
                  " windows of %" PRIu64 ", one every %" PRIu64 "\n",
                  g->count > 1 ? "s" : "", list != NULL ? list : "?", g->total, g->most, thread,
                  o->plan.windows, o->plan.length, plan_period(&o->plan, g->total));
    free(list);
}

/* Returns all chains, one per line, malloc'ed; NULL after printing a message. */
static char *make_chains(const struct plan_options *o, struct totals *t)
{
    struct plan_group *groups = NULL;
    size_t count = 0, bytes = 0;
    char *text = NULL;
    struct rt_error e = {{0}};
    FILE *out = open_memstream(&text, &bytes);
    bool good = out != NULL && plan_group(t->ranks, t->count, &groups, &count) == 0;
    if (!good)
        tool_error("plan", "no memory");
    for (size_t i = 0; i < count && good; i++) {
        bool all = count == 1 && o->ranks.count == 0;
        char *chain = plan_chain(&o->plan, t->ranks, &groups[i], all, &e);
        good = chain != NULL;
        if (good)
            (void)fprintf(out, "%s\n", chain);
        else
            tool_error("plan", "%s", e.text);
        free(chain);
    }
    good &= out != NULL && fclose(out) == 0 && chain_is_legal(text);
    for (size_t i = 0; i < count && good; i++)
        say_group(o, t->ranks, &groups[i]);
    free(groups);
    if (good)
        return text;
    free(text);
    return NULL;
}

/* Writes the chains to a new file, so that it never replaces a plan that is in use. */
static bool write_file(const struct plan_options *o, const char *chains)
{
    int fd = open(o->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        tool_error("plan", "cannot write %s: %s; -output FILE names another", o->out,
                   strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    (void)fprintf(out,
                  "# regtrace plan: %" PRIu64 " windows of %" PRIu64
                  " instructions, warm-up %" PRIu64 ", for the totals of %s\n%s",
                  o->plan.windows, o->plan.length, o->plan.warmup, o->path, chains);
    if (fclose(out) == 0)
        return true;
    tool_error("plan", "cannot write %s: %s", o->out, strerror(errno));
    (void)unlink(o->out);
    return false;
}

static int plan_run(const struct plan_options *o, const struct rt_run *run)
{
    struct totals t;
    char *chains = NULL;
    if (read_totals(&t, o, run) && ranks_are_complete(&t, o, run))
        chains = make_chains(o, &t);
    bool good = chains != NULL;
    if (good && o->out != NULL)
        good = write_file(o, chains);
    else if (good)
        (void)fputs(chains, stdout);
    free(chains);
    free(t.ranks);
    return good ? TOOL_OK : TOOL_FAILURE;
}

static int plan_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_plan, .count = argc, .words = argv, .next = 1};
    static struct plan_options o;
    o.wait = 30;
    int code;
    if (!arguments_one_folder(&a, take_option, &o, "--windows N --length L DIR", &o.path, &code))
        return code;
    if (o.plan.windows == 0)
        tool_error("plan", "-windows is missing: how many windows, for example -windows 50");
    else if (o.plan.length == 0)
        tool_error("plan", "-length is missing: instructions of a window, for example -length 10M");
    if (o.plan.windows == 0 || o.plan.length == 0)
        return TOOL_USAGE;
    struct rt_run *run = tool_open_run("plan", o.path, o.wait);
    if (run == NULL)
        return TOOL_FAILURE;
    code = plan_run(&o, run);
    rt_run_close(run);
    return output_finish("plan", code);
}

static const struct command_option plan_options[] = {
    {"windows", "N", "how many windows each rank gets", 'n'},
    {"length", "N", "instructions of a window; K, M, G, T: thousands, millions and so on", 'l'},
    {"warmup", "N", "instructions of warm-up before each window, a window of its own (default 0)",
     0},
    {"output", "FILE", "write the chains to this new file, for -control-file, not to stdout", 'o'},
    {"rank", "LIST", "only for these ranks, for example 0-3,8", 'r'},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_plan = {
    .name = "plan",
    .summary = "spread windows evenly over what a counting run has counted",
    .synopsis = "--windows N --length N [--warmup N] [--output FILE] [--rank LIST] "
                "[--wait SECONDS] DIR",
    .description =
        "DIR is a counting run (regtrace run --count), or any other whose threads were counted. "
        "Prints the chains of a run that opens a constant number of windows, whatever the length "
        "of the program: each lies in the middle of its share of the instructions. Without a "
        "warm-up that is one uniform; with one it is a repeated chain, since uniform has none.\n\n"
        "Where the totals of ranks differ by more than 1 %, they get chains of their own, with the "
        "token ranks; ranks that are alike share one that is made for the smallest of them. Where "
        "more than one thread of a rank was counted, the one with the most instructions drives "
        "(token tid), and all threads take part. Threads of MPI itself, and processes that were "
        "forked, are not looked at.\n\n"
        "No window opens inside MPI_Init: those that fall into it come after it, one upon the "
        "other. "
        "A program so short that this matters needs fewer windows.\n\n"
        "The plan goes to stderr; stdout has chains only. Another run of the program "
        "must execute about as many instructions as the one that was counted: half a gap is left "
        "after the last window.",
    .options = plan_options,
    .examples =
        "regtrace run --count -o count -- mpirun -np 4 ./app\n"
        "regtrace plan --windows 50 --length 10M -o chains count\n"
        "regtrace run -control-file chains -o trace -- mpirun -np 4 ./app\n"
        "regtrace run -control \"$(regtrace plan -n 50 -l 10M --warmup 1M count)\" -- ./app",
    .exits = "0 fine, 1 there are no totals, windows do not fit, or a file could not be read or "
             "written, 2 wrong usage.",
    .main = plan_main,
};
