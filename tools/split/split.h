/* SPDX-License-Identifier: BSD-3-Clause
 * The part of `regtrace split` that is not about rank files. */
#ifndef REGTRACE_TOOLS_SPLIT_SPLIT_H
#define REGTRACE_TOOLS_SPLIT_SPLIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A process whose rank file was split. */
struct split_process {
    uint32_t pid;
    char program[80]; /* base name: after exec the process is another program */
};

/* Splits a run's recordings of memory accesses (base/format/memory_recording.h) by window. The
 * caller owns all texts and arrays. */
struct split_memory {
    const char *dir, *out; /* folder of the run; folder for window-NNNNN */
    const struct split_process *processes;
    size_t process_count;
    const bool *made; /* by ordinal: the window has a folder */
    size_t room;
    uint64_t files; /* written */
};

/* Writes window-NNNNN/memory for each window: recordings with the segments of that window only, and
 * the skeletons that replay needs. A run without recordings is not an error. Returns 0, or -errno
 * with the text in *e. */
RT_MUST_CHECK int split_memory(struct split_memory *m, struct rt_error *e);

#endif
