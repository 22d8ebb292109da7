/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel`: what its files share. */
#ifndef REGTRACE_TOOLS_SKEL_H
#define REGTRACE_TOOLS_SKEL_H

#include "tools/tools.h"

struct skel_wishes {
    const char *action, *path, *function, *plan, *format;
    struct rank_list ranks;
    struct window_span windows;
    int64_t thread;        /* -1: all */
    const char *of_replay; /* an option that is for replay alone */
    bool dot, summary;
};

/* Where regtrace-skel is. False, and a message. */
bool skel_program(char program[PATH_MAX]);
/* Runs a program, its first word, to its end. Its exit status, -1 where it did not end by itself. */
int skel_run(const char *const *words);
/* The accesses of a run, to standard output. The command's exit code. */
int skel_replay(const struct skel_wishes *w);

#endif
