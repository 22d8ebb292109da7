/* SPDX-License-Identifier: BSD-3-Clause
 * A program of the toolkit's that answers questions of the traced process over a socket, which holds neither decoder nor plug-in for it. From
 * handlers too: raw system calls alone. One thread at a time, which is the caller's to see to. */
#ifndef REGTRACE_PRELOAD_HELPER_H
#define REGTRACE_PRELOAD_HELPER_H

#include "preload/internal.h"

#include <limits.h>
#include <sys/types.h>

struct helper {
    char program[PATH_MAX];
    const char *const *arguments; /* the first is for `program`; NULL behind them; the caller's */
    int fd;                       /* -1: not started, or gone */
    dev_t device; /* what the descriptor is, whatever the program does to the number */
    ino_t inode;
    size_t got; /* bytes of the answer that is being received */
};
#define HELPER_NONE                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Finds the program, which is built where Zydis is. Before main. 0, or -ENOENT with the text. */
RT_MUST_CHECK int helper_find(struct helper *h, const char *name, struct rt_error *e);
/* said: what it writes to standard error; -1: nobody reads that. 0, or -errno. */
RT_MUST_CHECK int helper_start(struct helper *h, int said);
bool helper_is_there(const struct helper *h);
/* Whole, or -EAGAIN: within that time (0: now) there is no room; -errno: it is gone. */
RT_MUST_CHECK int helper_put(const struct helper *h, const void *bytes, size_t n, int ms);
/* The next n bytes. 0; -EAGAIN: they have not come within that time (a further call with the same `to` goes on); -EPIPE: they will not. */
RT_MUST_CHECK int helper_get(struct helper *h, void *to, size_t n, int ms);
/* It ends when it sees that. In a forked child too: the parent's is not ours. */
void helper_drop(struct helper *h);

#endif
