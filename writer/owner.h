/* SPDX-License-Identifier: BSD-3-Clause
 * The process that a writer writes for: is it still there? */
#ifndef REGTRACE_WRITER_OWNER_H
#define REGTRACE_WRITER_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/* How often to look where no descriptor tells of the death. */
#define OWNER_LOOK_MS 20

struct owner {
    uint32_t pid;
    uint64_t start_time; /* field 22 of /proc/PID/stat, 0 unknown: tells a reused pid */
    int pidfd; /* readable when the process is gone; -1 where the system call is missing */
};

/* By a pidfd, which the writer opens itself: the traced process may run under valgrind, which does not know the call.
 * Without it (Linux before 5.3, seccomp) by looking into /proc, at every call of owner_is_gone(). */
void owner_open(struct owner *o, uint32_t pid, uint64_t start_time);

/* Every thread of the process has ended, or the pid belongs to another process by now. A main thread that has ended before
 * the others is no end. */
bool owner_is_gone(const struct owner *o);

#endif
