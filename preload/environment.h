/* SPDX-License-Identifier: BSD-3-Clause
 * The environment of programs that a traced one starts, completed without allocating. */
#ifndef REGTRACE_PRELOAD_ENVIRONMENT_H
#define REGTRACE_PRELOAD_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Pointers that environment_complete() needs, 0 where envp is handed on as it is: we are not traced or do not
 * follow, there is nothing to add, it is too long for a stack, or it does not preload us (the program took that out). */
size_t environment_room(char *const envp[]);

/* envp with process_child_environment() in it, in list[room]; envp itself where room is 0. */
char *const *environment_complete(char *const envp[], char **list, size_t room);

/* Is this "NAME=value" entry the variable `name`? */
bool environment_is(const char *entry, const char *name);

/* Take every libregtrace out of a "LD_PRELOAD=..." text, in place. */
void environment_cut_library(char *entry);

#endif
