/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of tools/ share: the table of subcommands, their options, messages, lists of ranks.
 *
 * Exit codes of every subcommand: 0 fine, 1 findings or failure, 2 wrong usage (`run` returns the
 * program's own code, or 2 when it refuses to start). Messages go to stderr, results to stdout. */
#ifndef REGTRACE_TOOLS_TOOLS_H
#define REGTRACE_TOOLS_TOOLS_H

#include "base/distance.h"
#include "base/error.h"
#include "base/options.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum tool_exit { TOOL_OK = 0, TOOL_FAILURE = 1, TOOL_USAGE = 2 };

/* One option of a subcommand beside the table base/options.def. Ends with a NULL name. */
struct command_option {
    const char *name;  /* without dashes; - and _ are the same */
    const char *value; /* what it takes, NULL = nothing */
    const char *help;
    char letter; /* the short form -o, 0 = none */
};

/* One subcommand. --help, the man page and the completion are made from this and nothing else. */
struct command {
    const char *name;
    const char *summary;     /* one line */
    const char *synopsis;    /* behind the name */
    const char *description; /* paragraphs, separated by an empty line */
    const struct command_option *options;
    const char *examples; /* lines of commands; "" = none */
    const char *exits;    /* "" = as all; else what differs */
    bool run_options;     /* takes the options of base/options.def too */
    int (*main)(int argc, char **argv);
};

/* All of them, NULL-terminated, in the order of --help. */
extern const struct command *const command_table[];

/* The subcommand of that name, NULL if none. */
const struct command *command_find(const char *name);

/* --- arguments: arguments.c --------------------------------------------------------------------- */

enum argument_kind {
    ARGUMENT_END,
    ARGUMENT_WORD,   /* not an option: `value` */
    ARGUMENT_OPTION, /* of the subcommand: `option`, `value` */
    ARGUMENT_ROW,    /* of base/options.def: `row`, `value` */
    ARGUMENT_DONE,   /* --help was served: leave with 0 */
    ARGUMENT_WRONG,  /* a message was printed: leave with TOOL_USAGE */
};

struct arguments {
    const struct command *command;
    int count;
    char **words; /* words[0] is the subcommand's name */
    int next;     /* index of the first word not taken yet */
    bool literal; /* "--" was seen */
    const struct command_option *option;
    const struct option_row *row;
    const char *value; /* points into words, NULL for options without a value */
};

/* Take the next argument. One or two dashes (also U+2013), "=value" or the next word, - and _ alike. */
enum argument_kind arguments_next(struct arguments *a);

/* All arguments of a command that takes one folder. Each of its options goes to take(), which says TOOL_OK, or what is wrong and
 * TOOL_USAGE. True and *path; else *code is what the command ends with. `usage`: what to type, for who gives no folder. */
bool arguments_one_folder(struct arguments *a, int (*take)(void *wishes, const struct arguments *a),
                          void *wishes, const char *usage, const char **path, int *code);

/* true if the table row takes no value: its presence means 1. */
bool option_row_is_switch(const struct option_row *row);

/* Nearest text by edit distance among an option's names of a command; never NULL. */
const char *command_nearest_option(const struct command *c, const char *name);

/* Is `nearest` so like `name` that it may have been meant? */
bool text_is_near(const char *name, const char *nearest);

/* A whole decimal number in [least, most]; 0 or -EINVAL. */
RT_MUST_CHECK int argument_number(const char *text, uint64_t least, uint64_t most, uint64_t *out);

/* --- messages: message.c ------------------------------------------------------------------------ */

/* "regtrace COMMAND: text" on stderr. */
void message_error(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void message_warning(const char *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Progress on a terminal: shows nothing in the first second, nothing when stderr is no terminal. */
struct progress {
    const char *what;
    uint64_t started_ns, shown_ns;
    bool visible, terminal;
};
void progress_begin(struct progress *p, const char *what);
void progress_update(struct progress *p, uint64_t done, uint64_t total);
void progress_end(struct progress *p);

/* Flush stdout and say what was wrong with it (a full disk, a closed pipe): `code`, or
 * TOOL_FAILURE when output was lost. */
int output_finish(const char *command, int code);

/* --- folders that are written to: output.c -------------------------------------------------------- */

/* Does that folder hold nothing? 1, 0, or -errno. */
int output_is_empty(const char *path);
/* False, and a message. */
bool output_make_folder(const char *command, const char *path);
/* The name `given`, or the run's with `ending` behind it. */
void output_name(char out[PATH_MAX], const char *given, const char *dir, const char *ending);
/* The folder `given`, or the run's name with `ending` ("-windows") behind it: made, or there and empty, since files of another run are
 * never mixed with these. False, and a message. */
bool output_folder(const char *command, const char *given, const char *dir, const char *ending,
                   char out[PATH_MAX]);

/* --- lists of ranks: rank_list.c ----------------------------------------------------------------- */

#define RANK_LIST_SPANS 64
struct rank_list {
    unsigned count; /* 0 = every rank */
    struct {
        int32_t first, last;
    } spans[RANK_LIST_SPANS];
};

/* "0-3,8" or "0-3+8". 0 or -EINVAL with the position in *e. */
RT_MUST_CHECK int rank_list_parse(struct rank_list *l, const char *text, struct rt_error *e);
bool rank_list_has(const struct rank_list *l, int32_t rank);

/* --- spans of windows: window_span.c -------------------------------------------------------------- */

struct window_span {
    bool given; /* false: every window, and what lies outside them */
    int32_t first, last;
};

/* "4" or "4-9", ordinals. 0 or -EINVAL with what is legal in *e. */
RT_MUST_CHECK int window_span_parse(struct window_span *s, const char *text, struct rt_error *e);
bool window_span_has(const struct window_span *s, int32_t ordinal);
/* "window 4", "windows 4 to 9" or "all windows". Returns `out`. */
const char *window_span_text(char out[48], const struct window_span *s);

/* --- help: help.c, man.c -------------------------------------------------------------------------- */

void help_print_all(FILE *out);
void help_print(FILE *out, const struct command *c);
void help_print_man(FILE *out, const struct command *c);   /* c == NULL: regtrace(1) itself */
void help_print_words(FILE *out, const struct command *c); /* completion: one word a line */
/* The legal values of an option ("-pmu") where they are a closed set, one a line; false: the subcommand has no such option. */
/* What stands for the value of an option in the help, "FILE"; nothing for a switch. False likewise. */
bool help_print_takes(FILE *out, const struct command *c, const char *option);
bool help_print_values(FILE *out, const struct command *c, const char *option);

const char *tool_version(void);

/* --- subcommands: cmd_*.c ------------------------------------------------------------------------- */
extern const struct command command_run, command_report, command_dump, command_check, command_ctl,
    command_doctor, command_recover, command_split, command_export, command_plan, command_emulate,
    command_prv, command_timeline, command_values, command_skel, command_version, command_help;

#endif
