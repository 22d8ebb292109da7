/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a helper: a program of the toolkit that answers questions of the traced process over a
 * socket, so that the traced process need not contain a decoder or a plug-in. Signal handlers may
 * call these functions, which use raw system calls only; helper_find() is for the constructor. The
 * caller ensures that only one thread at a time uses a helper. */
#ifndef REGTRACE_PRELOAD_HELPER_H
#define REGTRACE_PRELOAD_HELPER_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct helper {
    char program[PATH_MAX];
    const char *const *arguments; /* argv of `program`, ended by NULL; owned by the caller */
    int fd;                       /* socket; -1: not started, or gone */
    /* Identify our socket, because the program may close `fd` and reuse the number. */
    dev_t device;
    ino_t inode;
    size_t got; /* received bytes of the current answer */
};
#define HELPER_NONE                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Finds the helper program, which is built where Zydis is available. Call it before main. Returns
 * 0, or -ENOENT with the reason in *e. */
RT_MUST_CHECK int helper_find(struct helper *h, const char *name, struct rt_error *e);
/* Starts the helper. `said` is the descriptor for its standard error; -1: discard that. Returns 0,
 * or -errno. */
RT_MUST_CHECK int helper_start(struct helper *h, int said);
/* Is the helper's descriptor open, and still our socket? */
bool helper_is_there(const struct helper *h);
/* Sends n bytes. Returns 0; -EAGAIN if the socket has no room for them within `ms` milliseconds (0:
 * now); another -errno if the helper is gone. */
RT_MUST_CHECK int helper_put(const struct helper *h, const void *bytes, size_t n, int ms);
/* Receives the next n bytes into `to`. Returns 0; -EAGAIN if they have not come within `ms`
 * milliseconds (call it again with the same `to` to go on); -EPIPE if they will not come. */
RT_MUST_CHECK int helper_get(struct helper *h, void *to, size_t n, int ms);
/* Closes our end of the socket; the helper ends when it sees that. A forked child calls it too,
 * because the parent's helper is not its helper. */
void helper_drop(struct helper *h);

#endif
