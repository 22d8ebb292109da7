/* SPDX-License-Identifier: BSD-3-Clause
 * Call paths: the stream's table of places in code and the paths that they are called from. */
#ifndef REGTRACE_PRELOAD_STACK_CALL_PATHS_H
#define REGTRACE_PRELOAD_STACK_CALL_PATHS_H

#include "base/format/recorder.h"

/* Enters a path into the stream's table: code at `address`, called from the path `parent` (0:
 * unknown). An address in an instrumented copy stands for that of the function itself. Returns the
 * path's number; 0 if the table is full. Async-signal-safe. */
uint32_t path_enter(uint32_t parent, uintptr_t address);
/* The same for a path that may be in the table already. */
static inline uint32_t path_of(uint32_t parent, uintptr_t address)
{
    uint32_t path = stream_path_find(&recorder_paths, parent, address);
    return RT_LIKELY(path != 0) ? path : path_enter(parent, address);
}

/* For the hooks of mpi/: path_enter(), and the path of the code whose return address lies at
 * `return_at`, with at most `most` callers. They look for images whose load was not noticed, but
 * not if t->in_toolkit says that a handler of ours may call them. */
uint32_t call_path_entered(uint32_t parent, uintptr_t address);
uint32_t call_path_of_stack(uintptr_t return_at, unsigned most);

/* Returns the number of the call path of a function whose return address lies at `return_at`, with
 * as many callers as REGTRACE_CALLPATH asks for; 0 if that is none. Async-signal-safe. */
uint32_t call_path_at(uintptr_t return_at);

#endif
