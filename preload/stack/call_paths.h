/* SPDX-License-Identifier: BSD-3-Clause
 * Call paths: the stream's table of places in code and the paths that they are called from. */
#ifndef REGTRACE_PRELOAD_STACK_CALL_PATHS_H
#define REGTRACE_PRELOAD_STACK_CALL_PATHS_H

#include <stdint.h>

/* Enters a path into the stream's table: code at `address`, called from the path `parent` (0:
 * unknown). An address in an instrumented copy stands for that of the function itself. Returns the
 * path's number; 0 if the table is full. Async-signal-safe. */
uint32_t path_enter(uint32_t parent, uintptr_t address);

#endif
