/* SPDX-License-Identifier: BSD-3-Clause
 * The regtrace command: finds the subcommand in the table and runs it. */
#include "base/clock.h"
#include "tools/tools.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

const struct command *const command_table[] = {
    &command_run,    &command_report,  &command_diff,    &command_dump,     &command_check,
    &command_ctl,    &command_doctor,  &command_recover, &command_split,    &command_export,
    &command_plan,   &command_emulate, &command_prv,     &command_timeline, &command_page,
    &command_values, &command_skel,    &command_version, &command_help,     NULL,
};

const char *tool_version(void)
{
    return PACKAGE_VERSION;
}

const struct command *command_find(const char *name)
{
    for (const struct command *const *c = command_table; *c != NULL; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

static const char *nearest_command(const char *name)
{
    const char *best = command_table[0]->name;
    for (const struct command *const *c = command_table; *c != NULL; c++)
        if (text_distance(name, (*c)->name) < text_distance(name, best))
            best = (*c)->name;
    return best;
}

int command_unknown(const char *by, const char *word)
{
    const char *nearest = nearest_command(word);
    if (word[0] == '-')
        tool_error(by,
                   "\"%s\" stands before a subcommand: options come after it (regtrace help "
                   "lists all)",
                   word);
    else if (text_is_near(word, nearest))
        tool_error(by,
                   "there is no subcommand \"%s\"; the nearest is \"%s\" (regtrace help lists all)",
                   word, nearest);
    else
        tool_error(by, "there is no subcommand \"%s\" (regtrace help lists all)", word);
    return TOOL_USAGE;
}

/* Without memory for an identifier, HDF5 calls exit(-1), and says nothing. Nothing of ours does. */
static void ended(int status, void *context)
{
    (void)context;
    if (status == -1)
        tool_error("", "the HDF5 library had no memory and has ended this process: what it was "
                       "writing is incomplete");
}

int main(int argc, char **argv)
{
    clock_init(true);
    if (argc < 2) {
        help_print_all(stderr);
        return TOOL_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-help") == 0)
        word = "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "-version") == 0)
        word = "version";
    const struct command *c = command_find(word);
    if (c == NULL)
        return command_unknown("", word);
    (void)on_exit(ended, NULL);
    return c->main(argc - 1, argv + 1);
}
