/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-isa: what regtrace does with machine code, one command each.
 *
 * A program of its own, so that the traced process contains no decoder and no symbol tables. */
#include "isa/commands.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: regtrace-isa sites ...   finds where an image must be patched\n"
    "       regtrace-isa skel ...    finds what memory traces must record, and replays recordings\n"
    "For regtrace's own use. 'regtrace-isa sites --help' lists a command's options.\n";

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*main)(int argc, char **argv);
    } commands[] = {{"sites", sites_main}, {"skel", skel_main}};
    const char *name = argc > 1 ? argv[1] : "";
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].main(argc - 1, argv + 1);
    (void)fputs(usage, strcmp(name, "--help") == 0 ? stdout : stderr);
    return strcmp(name, "--help") == 0 ? 0 : 2;
}
