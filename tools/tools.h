/* SPDX-License-Identifier: BSD-3-Clause
 * Shared declarations of the regtrace command: subcommands, arguments, messages, output folders,
 * lists of ranks.
 *
 * Exit codes of every subcommand: 0 fine, 1 findings or failure, 2 wrong usage. `run` exits as the
 * program does, or with 2 if it refuses to start the program. Messages go to stderr, results to
 * stdout. */
#ifndef REGTRACE_TOOLS_TOOLS_H
#define REGTRACE_TOOLS_TOOLS_H

#include "base/names/distance.h"
#include "base/error.h"
#include "base/options.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum tool_exit { TOOL_OK = 0, TOOL_FAILURE = 1, TOOL_USAGE = 2 };

/* An option of one subcommand, in addition to those of base/options.def. Arrays end with a NULL
 * name. */
struct command_option {
    const char *name;  /* without dashes; - and _ are equivalent */
    const char *value; /* placeholder of the value; NULL: takes none */
    const char *help;
    char letter; /* short form -o; 0: none */
};

/* A subcommand. --help, the manual page and the shell completion are generated from this struct. */
struct command {
    const char *name;
    const char *summary;     /* one line */
    const char *synopsis;    /* follows the name */
    const char *description; /* paragraphs, separated by an empty line */
    const struct command_option *options;
    const char *examples; /* lines of commands; "" = none */
    const char *exits;    /* exit codes; "" = those above */
    bool run_options;     /* takes the options of base/options.def too */
    int (*main)(int argc, char **argv);
};

/* All subcommands, NULL-terminated, in the order of --help. */
extern const struct command *const command_table[];

/* Returns the subcommand of that name, or NULL. */
const struct command *command_find(const char *name);
/* Reports, in the name of the subcommand `by`, that there is no subcommand `word`, and names the
 * nearest one. Returns TOOL_USAGE. */
int command_unknown(const char *by, const char *word);

/* --- arguments: arguments.c ------------------------------------------------------------------- */

enum argument_kind {
    ARGUMENT_END,
    ARGUMENT_WORD,   /* not an option: in `value` */
    ARGUMENT_OPTION, /* of the subcommand: `option`, `value` */
    ARGUMENT_ROW,    /* of base/options.def: `row`, `value` */
    ARGUMENT_DONE,   /* --help was printed: exit with 0 */
    ARGUMENT_WRONG,  /* a message was printed: exit with TOOL_USAGE */
};

struct arguments {
    const struct command *command;
    int count;
    char **words; /* words[0] is the subcommand's name */
    int next;     /* index of the first word not yet taken */
    bool literal; /* "--" was seen: no more options */
    const struct command_option *option;
    const struct option_row *row;
    const char *value; /* points into words; NULL if the option has no value */
};

/* Takes the next argument. An option begins with one or two dashes (or U+2013). Its value follows
 * after "=" or is the next word. - and _ are equivalent in its name. */
enum argument_kind arguments_next(struct arguments *a);

/* Parses all arguments of a command that takes one folder. Calls take() for each of the command's
 * own options; take() returns TOOL_OK, or prints a message and returns TOOL_USAGE. It may be NULL
 * if the command has no options. Returns true with the folder in *path, or false with the exit code
 * in *code. `usage`: arguments that the message shows if no folder is given. */
bool arguments_one_folder(struct arguments *a,
                          int (*take)(void *options, const struct arguments *a), void *options,
                          const char *usage, const char **path, int *code);

/* Returns true if the option takes no value: its presence means 1. */
bool option_row_is_switch(const struct option_row *row);

/* Returns the option of the command whose name is nearest to `name` by edit distance; never
 * NULL. */
const char *command_nearest_option(const struct command *c, const char *name);

/* Returns true if `nearest` is similar enough to `name` to be suggested. */
bool text_is_near(const char *name, const char *nearest);

/* Parses a decimal number in [least, most]. Returns 0 or -EINVAL. */
RT_MUST_CHECK int argument_number(const char *text, uint64_t least, uint64_t most, uint64_t *out);

/* --- messages: diagnostics.c ------------------------------------------------------------------ */

/* Prints "regtrace COMMAND: text" to stderr, after flushing stdout. */
void tool_error(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tool_warning(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A progress line. Shows nothing in the first second, and nothing if stderr is no terminal. */
struct progress {
    const char *what;
    uint64_t started_ns, shown_ns;
    bool visible, terminal;
};
void progress_begin(struct progress *p, const char *what);
void progress_update(struct progress *p, uint64_t done, uint64_t total);
void progress_end(struct progress *p);

/* Flushes stdout. Returns `code`, or TOOL_FAILURE if output was lost. Prints the reason (such as a
 * full disk), except for a closed pipe. */
int output_finish(const char *command, int code);

/* --- output folders: output_folder.c ---------------------------------------------------------- */

/* Returns 1 if the folder is empty, 0 if it is not, or -errno. */
int output_is_empty(const char *path);
/* Creates a folder. Returns false after printing a message if that fails. */
bool output_make_folder(const char *command, const char *path);
/* Writes the name of an output to `out`: `given`, or if that is NULL the run's name followed by
 * `ending`. */
void output_name(char out[PATH_MAX], const char *given, const char *dir, const char *ending);
/* Prepares an output folder: `given`, or if that is NULL the run's name followed by `ending`
 * ("-windows"). Creates it if it does not exist. Refuses a folder that is not empty, so that files
 * of two runs never mix. Writes the path to `out`. Returns false after printing a message on
 * failure. */
bool output_folder(const char *command, const char *given, const char *dir, const char *ending,
                   char out[PATH_MAX]);

/* --- lists of ranks: rank_list.c -------------------------------------------------------------- */

#define RANK_LIST_SPANS 64
struct rank_list {
    unsigned count; /* 0 = every rank */
    struct {
        int32_t first, last;
    } spans[RANK_LIST_SPANS];
};

/* Parses "0-3,8" or "0-3+8". Returns 0, or -EINVAL with the position of the error in *e. */
RT_MUST_CHECK int rank_list_parse(struct rank_list *l, const char *text, struct rt_error *e);
bool rank_list_has(const struct rank_list *l, int32_t rank);

/* --- spans of windows: window_span.c ---------------------------------------------------------- */

struct window_span {
    bool given; /* false: all windows, and events outside of windows */
    int32_t first, last;
};

/* Parses ordinals, "4" or "4-9". Returns 0, or -EINVAL with the legal forms in *e. */
RT_MUST_CHECK int window_span_parse(struct window_span *s, const char *text, struct rt_error *e);
bool window_span_has(const struct window_span *s, int32_t ordinal);
/* Writes "window 4", "windows 4 to 9" or "all windows" to `out`, and returns `out`. */
const char *window_span_text(char out[48], const struct window_span *s);

/* --- help: help.c, man.c ---------------------------------------------------------------------- */

void help_print_all(FILE *out);
void help_print(FILE *out, const struct command *c);
void help_print_man(FILE *out, const struct command *c);   /* c == NULL: regtrace(1) */
void help_print_words(FILE *out, const struct command *c); /* for completion, one word per line */
/* Prints the placeholder of an option's value ("FILE"); nothing for a switch. Returns false if the
 * subcommand has no such option. */
bool help_print_takes(FILE *out, const struct command *c, const char *option);
/* Prints the legal values of an option, such as -pmu, if they are a closed set, one per line.
 * Returns false if the subcommand has no such option. */
bool help_print_values(FILE *out, const struct command *c, const char *option);

const char *tool_version(void);

/* --- subcommands: cmd_*.c --------------------------------------------------------------------- */
extern const struct command command_run, command_report, command_diff, command_dump, command_check,
    command_ctl, command_doctor, command_recover, command_split, command_export, command_plan,
    command_emulate, command_prv, command_timeline, command_page, command_values, command_skel,
    command_version, command_help;

#endif
