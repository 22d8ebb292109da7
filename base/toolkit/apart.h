/* SPDX-License-Identifier: BSD-3-Clause
 * Starts a program of the toolkit from inside the traced process, which does not notice it: no
 * SIGCHLD, no child for wait(-1), a separate session, none of its descriptors. */
#ifndef REGTRACE_BASE_TOOLKIT_APART_H
#define REGTRACE_BASE_TOOLKIT_APART_H

#include <stddef.h>

/* Runs `in_child` in a new process, in the memory of this one and with all signals blocked, while
 * the calling thread waits. `in_child` may make raw system calls alone, and must not use errno. It
 * ends in apart_exec() and returns its result, or the -errno of an earlier failure. Returns the
 * pid, or -errno. */
int apart_start(long (*in_child)(void *context), void *context);

/* Call it in `in_child`. fds[i] becomes descriptor i of the program, for all n (at most 8). The
 * program gets no other descriptors, and no signal is blocked in it. Returns only if it fails:
 * -errno. */
long apart_exec(const int *fds, unsigned n, const char *program, char *const *arguments,
                char *const *environment);

/* Fills to[] with the environment for that program: all variables but LD_PRELOAD, at most `most`,
 * and a NULL after them (to[] has most + 1 elements). Copies the pointers, not the texts. */
void apart_environment(char *const *from, char **to, size_t most);

#endif
