/* SPDX-License-Identifier: BSD-3-Clause
 * Completes the environment of programs that a traced program starts, without allocating memory. */
#ifndef REGTRACE_PRELOAD_ENVIRONMENT_H
#define REGTRACE_PRELOAD_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of pointers that environment_complete() needs for its list. Returns 0 if the
 * program gets envp unchanged, because:
 * - this process is not traced, or its children are not to be followed;
 * - there is nothing to add;
 * - envp is too long for a stack;
 * - envp does not preload this library (the program removed it). */
size_t environment_room(char *const envp[]);

/* Writes envp, completed by process_child_environment(), to list[room], and returns the list.
 * Returns envp itself if room is 0. */
char *const *environment_complete(char *const envp[], char **list, size_t room);

/* Is this "NAME=value" entry the variable `name`? */
bool environment_is(const char *entry, const char *name);

/* Removes every libregtrace from an "LD_PRELOAD=..." text, in place. */
void environment_cut_library(char *entry);

#endif
