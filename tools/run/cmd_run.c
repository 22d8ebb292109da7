/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace run`: checks everything, sets the environment, starts the program, and ends as it
 * ended. */
#include "base/toolkit/beside.h"
#include "controller/controller.h"
#include "pmu/pmu.h"
#include "tools/child.h"
#include "tools/installed.h"
#include "tools/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct run_command {
    struct options options; /* from the environment, overridden by the command line */
    bool explain, quiet;
    unsigned chains;
    int count; /* of `words`, the command */
    char **words;
    /* target: the program of the ranks, if `program` is a launcher */
    struct program program, target;
    enum launcher_kind launcher;
    bool has_target, as_rank;
    struct identity id;
    char library[PATH_MAX], writer[PATH_MAX], folder[PATH_MAX];
    bool folder_is_new;
    /* The folder that -o names, if it belongs to an earlier run or is not empty, and `folder`
     * replaces it; else "". */
    char taken[PATH_MAX];
    const char *taken_why;
};

static bool is_path(const struct option_row *row, const char *value)
{
    if (row == &option_table[OPT_values]) /* a name, or a path */
        return strchr(value, '/') != NULL;
    return strcmp(row->values, "FILE") == 0 || strcmp(row->values, "DIR") == 0 ||
           (strcmp(row->values, "PROGRAM") == 0);
}

/* Returns the path made absolute, malloc'ed, since ranks may start in another folder. */
static char *absolute_path(const char *value)
{
    char *out = NULL, *here = value[0] == '/' ? NULL : getcwd(NULL, 0);
    int n = here == NULL ? asprintf(&out, "%s", value) : asprintf(&out, "%s/%s", here, value);
    free(here);
    return n >= 0 ? out : NULL;
}

static int set_row(struct run_command *r, bool *seen, const struct option_row *row,
                   const char *value)
{
    struct rt_error e = {{0}};
    ptrdiff_t i = row - option_table;
    if (value == NULL)
        value = "1";
    if (value[0] == '\0' && row->kind != OPTION_TEXT) {
        tool_error("run", "the option -%s has an empty value; legal is %s", row->option,
                   row->values);
        return TOOL_USAGE;
    }
    if (option_check(row, value, &r->options.number[i], &e) != 0) {
        tool_error("run", "%s", e.text);
        return TOOL_USAGE;
    }
    char *text = NULL;
    if (row->kind == OPTION_LIST && seen[i]) {
        if (asprintf(&text, "%s\n%s", r->options.text[i], value) < 0)
            text = NULL;
    } else {
        text = is_path(row, value) && value[0] != '\0' ? absolute_path(value) : strdup(value);
    }
    if (text == NULL || setenv(row->variable, text, 1) != 0) {
        tool_error("run", "no memory for the option -%s", row->option);
        return TOOL_FAILURE;
    }
    seen[i] = true;
    r->options.text[i] = text;
    return TOOL_OK;
}

/* Refuses options that only modify what another option records, if that option is missing. In the
 * environment they are legal, because they may be meant for later runs. */
static bool makes_sense(const struct run_command *r, const bool *seen)
{
    static const struct {
        enum option_index option, of;
        const char *needs;
    } rules[] = {
        {OPT_values_sample, OPT_values, "-values PLUGIN, which captures values"},
        {OPT_values_follow, OPT_values, "-values PLUGIN, which captures values"},
        {OPT_vcontext, OPT_values, "-values PLUGIN, which captures values"},
        {OPT_memory_plan, OPT_memory, "-memory REGEX, which records memory accesses"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (seen[rules[i].option] && r->options.text[rules[i].of][0] == '\0') {
            tool_error("run", "-%s has no effect without %s", option_table[rules[i].option].option,
                       rules[i].needs);
            return false;
        }
    return true;
}

/* Returns true to go on, or false with the exit code in *code. */
static bool read_arguments(struct run_command *r, int argc, char **argv, int *code)
{
    struct rt_error e = {{0}};
    bool seen[OPTION_COUNT] = {false};
    struct arguments a = {.command = &command_run, .count = argc, .words = argv, .next = 1};
    if (options_read(&r->options, environ, &e, NULL, NULL) != 0) {
        tool_error("run", "%s", e.text);
        *code = TOOL_USAGE;
        return false;
    }
    for (;;) {
        enum argument_kind kind = arguments_next(&a);
        *code = kind == ARGUMENT_WRONG ? TOOL_USAGE : TOOL_OK;
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG)
            return false;
        if (kind == ARGUMENT_ROW && (*code = set_row(r, seen, a.row, a.value)) != TOOL_OK)
            return false;
        if (kind == ARGUMENT_OPTION && a.option->letter == 'o' &&
            (*code = set_row(r, seen, &option_table[OPT_dir], a.value)) != TOOL_OK)
            return false;
        if (kind == ARGUMENT_OPTION && strcmp(a.option->name, "explain") == 0)
            r->explain = true;
        if (kind == ARGUMENT_OPTION && strcmp(a.option->name, "quiet") == 0)
            r->quiet = true;
        if (kind == ARGUMENT_WORD || kind == ARGUMENT_END) {
            r->words = kind == ARGUMENT_WORD ? argv + a.next - 1 : argv + argc;
            r->count = (int)(argv + argc - r->words);
            *code = makes_sense(r, seen) ? TOOL_OK : TOOL_USAGE;
            return *code == TOOL_OK;
        }
    }
}

/* One process per node prints messages, as in the library: local rank 0. The others exit with the
 * same code. */
static bool speaks(const struct run_command *r)
{
    return !r->as_rank || identity_speaks(&r->id);
}

static int check_program(struct run_command *r, struct rt_error *e)
{
    int rc = program_look(&r->program, r->words[0], e);
    if (rc != 0)
        return rc;
    r->launcher = launcher_kind_of(&r->program);
    int at = launcher_find_program(r->launcher, r->count, r->words);
    if (at > 0) {
        struct rt_error why = {{0}};
        rc = program_look(&r->target, r->words[at], &why);
        r->has_target = rc == 0;
        /* A program that was found but cannot be preloaded is an error. One that was not found may
         * be on another node, or we have misread the launcher's options: go on. */
        if (rc == -ENOEXEC || rc == -EPERM) {
            *e = why;
            return rc;
        }
    }
    return 0;
}

/* Checks the room for streams in the memory file system. Too little room only causes a warning:
 * streams become smaller, or ranks stay unrecorded. */
static int check_streams(const struct run_command *r, struct rt_error *e)
{
    const char *shm = r->options.text[OPT_shm];
    struct statvfs v;
    int rc = beside_streams(shm, e);
    if (rc != 0)
        return rc;
    if (statvfs(shm, &v) != 0)
        return 0;
    unsigned ranks = r->launcher != LAUNCHER_NONE ? launcher_ranks(r->count, r->words) : 1;
    uint64_t room = (uint64_t)v.f_bavail * v.f_frsize,
             need = r->options.number[OPT_buffer] * (ranks > 0 ? ranks : 1);
    bool limited = v.f_blocks > 0; /* tmpfs can be mounted without a limit */
    if (limited && room < need && speaks(r) && !r->quiet)
        tool_warning(
            "run",
            "%s has %llu KiB free, the streams want %llu KiB: they will be smaller or missing; use "
            "-buffer or -shm, or give the container a larger /dev/shm",
            shm, (unsigned long long)room / 1024, (unsigned long long)need / 1024);
    return 0;
}

static int make_folder(struct run_command *r, struct rt_error *e)
{
    const struct program *p = r->has_target ? &r->target : &r->program;
    char run_id[128];
    if (r->options.text[OPT_run][0] != '\0')
        (void)snprintf(run_id, sizeof run_id, "%s", r->options.text[OPT_run]);
    else
        (void)snprintf(run_id, sizeof run_id, "%.40s-%u-%llx", r->id.host, r->id.pid,
                       (unsigned long long)r->id.pid_start_time);
    identity_read(&r->id, environ, run_id);
    memcpy(r->id.program, p->name, sizeof r->id.program);
    struct stat st;
    bool named = r->options.text[OPT_dir][0] != '\0';
    bool existed = named && stat(r->options.text[OPT_dir], &st) == 0;
    int rc = identity_make_folder(&r->id, r->options.text[OPT_dir], r->folder, e);
    if (rc != 0)
        return rc;
    (void)snprintf(r->taken, sizeof r->taken, "%s", r->options.text[OPT_dir]);
    for (size_t n = strlen(r->taken); n > 1 && r->taken[n - 1] == '/'; n--)
        r->taken[n - 1] = '\0';
    if (!existed || strcmp(r->folder, r->taken) == 0)
        r->taken[0] = '\0';
    char runs[PATH_MAX + 16];
    (void)snprintf(runs, sizeof runs, "%s/.regtrace", r->taken);
    bool earlier = access(runs, F_OK) == 0;
    r->taken_why = earlier ? "an earlier run's" : "not empty";
    r->folder_is_new = !existed || r->taken[0] != '\0';
    if (r->taken[0] != '\0' && !r->quiet)
        tool_warning("run",
                     "%s is %s and is left as it is: this run goes to %s (remove %s, or name "
                     "another folder with -o, to choose)",
                     r->taken, r->taken_why, r->folder, earlier ? "the earlier one" : "it");
    if (setenv("REGTRACE_RUN", r->id.job, 1) != 0 || setenv("REGTRACE_DIR", r->folder, 1) != 0) {
        rt_error_set(e, "no memory for the environment");
        return -ENOMEM;
    }
    return 0;
}

static int check_all(struct run_command *r, struct rt_error *e)
{
    struct ctl_config *config = NULL;
    bool one_window = false;
    int rc = run_parse_chains(&r->options, false, !speaks(r) || r->quiet, &config, e);
    if (rc == 0) {
        r->chains = ctl_config_chain_count(config);
        one_window = r->chains == 0 && ctl_config_default_start(config);
        ctl_config_free(config);
    }
    if (rc == 0)
        rc = run_check_counters(&r->options, one_window, e);
    if (rc == 0)
        rc = run_check_count(&r->options, e);
    if (rc == 0 && r->options.text[OPT_controller_log][0] != '\0')
        rc = folder_check_log(r->options.text[OPT_controller_log], r->options.text[OPT_dir], e);
    if (rc == 0)
        rc = installed_library(r->library, e);
    if (rc == 0)
        rc = run_check_values(&r->options, one_window, r->library, e);
    if (rc == 0)
        rc = installed_writer(r->writer, r->library, r->options.text[OPT_writer], e);
    if (rc == 0)
        rc = check_streams(r, e);
    if (rc == 0 && !r->as_rank)
        rc = make_folder(r, e);
    return rc;
}

/* Returns the value of LD_PRELOAD, malloc'ed: our library before the libraries that were there, and
 * AddressSanitizer's runtime before both, since otherwise that runtime ends the program. ld.so
 * accepts spaces and colons as separators. */
static char *preload_value(const char *library, const char *runtime)
{
    const char *old = getenv("LD_PRELOAD");
    char *out = NULL;
    if (old == NULL)
        old = "";
    bool first = runtime[0] != '\0' && strstr(old, runtime) == NULL,
         ours = strstr(old, library) == NULL;
    return asprintf(&out, "%s%s%s%s%s", first ? runtime : "", first && (ours || *old) ? ":" : "",
                    ours ? library : "", ours && *old ? ":" : "", old) >= 0
               ? out
               : NULL;
}

static const char *const *exported_names(void)
{
    size_t n = 0, count = 0;
    for (char **p = environ; *p != NULL; p++)
        count++;
    const char **names = calloc(count + 1, sizeof *names);
    for (char **p = environ; names != NULL && *p != NULL; p++)
        if (strncmp(*p, "REGTRACE_", 9) == 0 && strcspn(*p, "=") < strlen(*p))
            names[n++] = strndup(*p, strcspn(*p, "="));
    return names;
}

/* Sets the environment of the traced program. For launchers that need it, adds words to the
 * command. */
static int prepare_command(struct run_command *r, char ***command)
{
    const char *runtime = r->has_target ? r->target.runtime : r->program.runtime;
    char *preload = preload_value(r->library, runtime);
    const char *const *names = NULL;
    const char *codes = run_event_codes(&r->id);
    if (codes != NULL && setenv(PMU_NAMES_VARIABLE, codes, 1) != 0)
        return -ENOMEM;
    (void)unsetenv("REGTRACE_LIBRARY");
    if (preload != NULL)
        names = exported_names();
    *command = r->words;
    if (names != NULL &&
        (r->launcher == LAUNCHER_OPENMPI || (r->launcher == LAUNCHER_HYDRA && runtime[0] != '\0')))
        *command = launcher_command(r->launcher, r->count, r->words, preload, names);
    else if (names != NULL && setenv("LD_PRELOAD", preload, 1) != 0)
        *command = NULL;
    return names != NULL && *command != NULL ? 0 : -ENOMEM;
}

static int explain(struct run_command *r)
{
    struct ctl_config *config = NULL;
    struct rt_error e = {{0}};
    int rc = run_parse_chains(&r->options, true, false, &config, &e);
    if (rc != 0) {
        tool_error("run", "%s", e.text);
        return TOOL_USAGE;
    }
    rc = ctl_explain(config, stdout);
    ctl_config_free(config);
    config = NULL;
    if (run_parse_chains(&r->options, false, true, &config, &e) != 0)
        printf("Would be refused here: %s\n", e.text);
    else
        ctl_config_free(config);
    return output_finish("run", rc == 0 ? TOOL_OK : TOOL_FAILURE);
}

/* Starts the program. A rank executes it directly, so that no process of ours stays between
 * launcher and program; otherwise it runs as a child. */
static int start(struct run_command *r, char **command, bool traced)
{
    if (r->as_rank) {
        (void)execv(r->program.path, command);
        tool_error("run", "%s could not be started: %s", r->program.path, strerror(errno));
        return TOOL_USAGE;
    }
    int status = child_run(r->program.path, command);
    const char *program = r->has_target                  ? r->target.name
                          : r->launcher == LAUNCHER_NONE ? r->program.name
                                                         : NULL;
    const struct run_end end = {
        .options = &r->options,
        .folder = r->folder,
        .taken = r->taken[0] != '\0' ? r->taken : NULL,
        .taken_why = r->taken_why,
        .program = program,
        .launcher = r->launcher != LAUNCHER_NONE ? r->words[0] : NULL,
        .chains = r->chains,
        .status = status,
        .remove_if_empty = status < 0 || r->folder_is_new,
        .quiet = r->quiet,
    };
    if (traced)
        run_print_end(&end);
    if (status < 0) {
        tool_error("run", "%s could not be started: %s", r->program.path, strerror(-status));
        return TOOL_USAGE;
    }
    child_end_as(status);
}

static int run_main(int argc, char **argv)
{
    pmu_names_prepare(installed_events, environ);
    (void)unsetenv(PMU_NAMES_VARIABLE);
    static struct run_command r;
    int code;
    struct rt_error e = {{0}};
    if (!read_arguments(&r, argc, argv, &code))
        return code;
    if (r.explain)
        return explain(&r);
    if (r.count == 0) {
        tool_error("run", "no program is named: regtrace run [options] -- program arguments");
        return TOOL_USAGE;
    }
    identity_read(&r.id, environ, r.options.text[OPT_run]);
    int rc = check_program(&r, &e);
    r.as_rank = r.id.launched && r.launcher == LAUNCHER_NONE;
    bool continued =
        strcmp(r.options.text[OPT_on_error], "continue") == 0 && r.program.path[0] != '\0';
    if (rc == 0)
        rc = check_all(&r, &e);
    char **command = r.words;
    if (rc == 0 && prepare_command(&r, &command) != 0) {
        rc = -ENOMEM;
        rt_error_set(&e, "no memory for the environment");
    }
    if (rc == 0)
        return start(&r, command, true);
    if (speaks(&r))
        tool_error("run", "%s%s", continued ? "running untraced: " : "", e.text);
    if (continued)
        return start(&r, r.words, false);
    if (r.as_rank)
        identity_let_speak(&r.id);
    return TOOL_USAGE;
}

static const struct command_option run_options[] = {
    {"output", "DIR", "folder of the run (default regtrace-PROGRAM-JOB) [REGTRACE_DIR]", 'o'},
    {"explain", NULL,
     "say in words what the chains will do, check them, run nothing; names of functions are looked "
     "up at run time",
     0},
    {"quiet", NULL, "no warnings before and no lines about the recording after the run", 0},
    {NULL, NULL, NULL, 0},
};

const struct command command_run = {
    .name = "run",
    .summary = "run a program with tracing, everything checked before it starts",
    .synopsis = "[-control CHAIN]... [-o DIR] [options] [--] program [argument]...",
    .description =
        "Checks the chains, the program (dynamically linked, not setuid), the library, the writer, "
        "the room "
        "for streams and the output folder, then starts the program with libregtrace.so preloaded "
        "and "
        "REGTRACE_ variables set. A folder of an earlier run stays as it is: DIR-2 is taken then, "
        "and two lines say so. What LD_PRELOAD held already stays after ours. The runtime of "
        "AddressSanitizer comes first where the program needs it. Programs built with "
        "-fsanitize=thread or memory are refused. Nothing of the program has run when an error is "
        "reported.\n\n"
        "The program may be a launcher: with mpirun of Open MPI the variables are passed on by -x, "
        "those of "
        "MPICH (hydra) and srun pass the environment on themselves. Under a launcher, as in mpirun "
        "-np 4 "
        "regtrace run -- ./app, each rank becomes the program; no process of ours stays in "
        "between.\n\n"
        "When the program has ended, the folder of the run and the lines of DIR/regtrace.log are "
        "printed to "
        "stderr (not under a launcher). A signal that regtrace run receives is passed on.\n\n"
        "With -count it is a counting run: the instructions of each thread are counted from start "
        "to "
        "end, at the program's own speed, and without chains no window opens. regtrace plan makes "
        "chains of the totals, regtrace report -total shows them beside estimates. The machine "
        "must "
        "have a counter of instructions (regtrace doctor).\n\n"
        "The language of chains is in control.md of the documentation; --explain says what a chain "
        "does. Options may have one or two dashes, - and _ are the same, a value may follow after "
        "=. An "
        "option "
        "replaces its variable in the environment.",
    .options = run_options,
    .examples = "regtrace run -count -o count -- mpirun -np 4 ./app\n"
                "regtrace run -control start:pcontrol:solve,stop:pcontrol:solved,repeat -- mpirun "
                "-np 4 ./app\n"
                "mpirun -np 4 regtrace run -o trace -- ./app\n"
                "regtrace run --explain -control start:signal:USR1:bcast,stop:timeout:5",
    .exits = "The program's own exit code; when a signal ended it, regtrace run ends by the same "
             "signal. 2 when "
             "something is wrong and the program was not started.",
    .run_options = true,
    .main = run_main,
};
