/* SPDX-License-Identifier: BSD-3-Clause
 * Helper programs of the command: starts them, and captures what they write. */
#ifndef REGTRACE_TOOLS_HELPER_PROCESS_H
#define REGTRACE_TOOLS_HELPER_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

enum {
    HELPER_NULL = -1,    /* /dev/null */
    HELPER_CAPTURED = -2 /* the buffer of helper_capture() */
};

struct helper {
    const char *const *words;     /* the command; words[0] is looked up in PATH; ends with NULL */
    const char *const *variables; /* "NAME=value": set; "NAME": unset; ends with NULL; or NULL */
    unsigned seconds;             /* SIGALRM ends it after that time; 0: no limit */
    int in, out, err;             /* its standard descriptors */
};

/* Starts the program. SIGPIPE has its default action in it. Returns its pid, which the caller waits
 * for, or -errno. If it cannot be executed it ends with exit code 127. */
pid_t helper_start(const struct helper *h);

/* Runs the program to its end. Writes what goes to HELPER_CAPTURED to `out`, cut to the room and
 * with a '\0'. Returns its exit code, 128 + its signal, or -errno. */
int helper_capture(const struct helper *h, char *out, size_t room);

/* Waits for the program's end, whatever its exit code. */
void helper_wait(pid_t pid);

#endif
