/* SPDX-License-Identifier: BSD-3-Clause
 * A program of the toolkit's started from inside the traced process, which sees nothing of it: no SIGCHLD, nobody for
 * wait(-1), a session of its own, none of its descriptors. */
#ifndef REGTRACE_BASE_TOOLKIT_APART_H
#define REGTRACE_BASE_TOOLKIT_APART_H

#include <stddef.h>

/* `become` runs in the new process, in the memory of this one and with all signals blocked, while the calling thread waits: raw
 * system calls alone, no errno. It ends in apart_exec() and returns what that returned, or the -errno of what failed before. The
 * pid, or -errno. */
int apart_start(long (*become)(void *context), void *context);

/* In `become`: fds[i] is the program's descriptor i, for all n (8 at most); it has no others, and no signal blocked. Returns
 * where it cannot be started, -errno. */
long apart_exec(const int *fds, unsigned n, const char *program, char *const *arguments,
                char *const *environment);

/* What environment that program is to have: without LD_PRELOAD, `most` variables at most; to[] has room for one more. The
 * texts stay whose they are. */
void apart_environment(char *const *from, char **to, size_t most);

#endif
