/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of `regtrace split` beside rank files. */
#ifndef REGTRACE_TOOLS_SPLIT_H
#define REGTRACE_TOOLS_SPLIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The recordings of memory accesses (base/memory.h) of a run, by window. All texts and arrays are the caller's. */
struct split_memory {
    const char *dir, *out; /* of the run; of the folders window-NNNNN */
    const uint32_t *pids;  /* processes whose rank files were split */
    size_t pid_count;
    const bool *made; /* by ordinal: there is a folder of that window */
    size_t room;
    uint64_t files; /* written */
};

/* Writes window-NNNNN/memory for each window: recordings that have stretches of that window alone, and the skeletons that replay
 * them. A run without such is no error. 0, or -errno with the text in *e. */
RT_MUST_CHECK int split_memory(struct split_memory *m, struct rt_error *e);

#endif
