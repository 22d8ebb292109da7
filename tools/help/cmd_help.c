/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace help` and `regtrace version`: prints help, manual pages and completion words from the
 * tables. */
#include "tools/tools.h"

#include <string.h>

static int print_option(const struct command *c, const char *values, const char *takes)
{
    bool found = c != NULL && (values != NULL ? help_print_values(stdout, c, values)
                                              : help_print_takes(stdout, c, takes));
    if (found)
        return output_finish("help", TOOL_OK);
    tool_error("help", "no option %s of %s (regtrace help --values -pmu run, for example)",
               values != NULL ? values : takes,
               c != NULL ? c->name : "a subcommand, which is not named");
    return TOOL_USAGE;
}

static int help_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_help, .count = argc, .words = argv, .next = 1};
    const struct command *c = NULL;
    const char *values = NULL, *takes = NULL;
    bool man = false, words = false;
    for (enum argument_kind kind; (kind = arguments_next(&a)) != ARGUMENT_END;) {
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG)
            return kind == ARGUMENT_DONE ? TOOL_OK : TOOL_USAGE;
        if (kind == ARGUMENT_OPTION) {
            man |= strcmp(a.option->name, "man") == 0;
            words |= strcmp(a.option->name, "words") == 0;
            if (strcmp(a.option->name, "values") == 0)
                values = a.value;
            if (strcmp(a.option->name, "takes") == 0)
                takes = a.value;
            continue;
        }
        c = command_find(a.value);
        if (c == NULL)
            return command_unknown("help", a.value);
    }
    if (values != NULL || takes != NULL)
        return print_option(c, values, takes);
    if (words)
        help_print_words(stdout, c);
    else if (man)
        help_print_man(stdout, c);
    else if (c != NULL)
        help_print(stdout, c);
    else
        help_print_all(stdout);
    return output_finish("help", TOOL_OK);
}

static const struct command_option help_options[] = {
    {"man", NULL, "the manual page instead (troff source: | man -l -)", 0},
    {"words", NULL, "one legal word a line, for shell completion", 0},
    {"values", "OPTION",
     "the legal values of that option of the subcommand, one a line, where "
     "they are a closed set",
     0},
    {"takes", "OPTION", "what that option of the subcommand takes, as its help has it", 0},
    {NULL, NULL, NULL, 0},
};

const struct command command_help = {
    .name = "help",
    .summary = "say what a subcommand does and takes",
    .synopsis = "[--man | --words | --values OPTION | --takes OPTION] [subcommand]",
    .description = "Prints the help of a subcommand, or the list of all. The manual pages and the "
                   "shell completion "
                   "are made from the same tables.",
    .options = help_options,
    .examples = "regtrace help run\nregtrace help --man report | man -l -",
    .exits = "",
    .main = help_main,
};

static int version_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_version, .count = argc, .words = argv, .next = 1};
    enum argument_kind kind = arguments_next(&a);
    if (kind == ARGUMENT_WORD)
        tool_error("version", "takes no argument, but was given \"%s\"", a.value);
    if (kind != ARGUMENT_END)
        return kind == ARGUMENT_DONE ? TOOL_OK : TOOL_USAGE;
    printf("regtrace %s\n", tool_version());
    return output_finish("version", TOOL_OK);
}

static const struct command_option no_options[] = {{NULL, NULL, NULL, 0}};

const struct command command_version = {
    .name = "version",
    .summary = "print the version",
    .synopsis = "",
    .description = "Prints the version of this command. The version that wrote a file is an "
                   "attribute of the file.",
    .options = no_options,
    .examples = "",
    .exits = "",
    .main = version_main,
};
