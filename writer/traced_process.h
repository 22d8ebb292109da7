/* SPDX-License-Identifier: BSD-3-Clause
 * The process for which a writer writes: tells whether it still exists. */
#ifndef REGTRACE_WRITER_TRACED_PROCESS_H
#define REGTRACE_WRITER_TRACED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Period of the checks if no descriptor reports the end. */
#define TRACED_PROCESS_LOOK_MS 20

struct traced_process {
    uint32_t pid;
    uint64_t start_time; /* field 22 of /proc/PID/stat, detects a reused pid; 0: unknown */
    int pidfd;           /* readable once the process has ended; -1: no pidfd_open(2) */
};

/* Opens a pidfd. The writer opens it itself, since the traced process may run under valgrind, which
 * does not know the system call. Without a pidfd (Linux before 5.3, seccomp), each call of
 * traced_process_is_gone() looks into /proc. */
void traced_process_open(struct traced_process *o, uint32_t pid, uint64_t start_time);

/* Returns true if every thread of the process has ended, or if the pid belongs to another process
 * now. A process has not ended if only its main thread has. */
bool traced_process_is_gone(const struct traced_process *o);

#endif
