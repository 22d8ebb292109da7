/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the time until which a process has recorded all its MPI calls. */
#ifndef REGTRACE_TOOLS_MESSAGES_RECORDED_UNTIL_H
#define REGTRACE_TOOLS_MESSAGES_RECORDED_UNTIL_H

#include "writer/writer.h"

/* MPI-3.1, 12.4.3: from this level on, several threads may call MPI. */
enum { LEVEL_SERIALIZED = 2 };

/* Returns the time (as rt_rank_ns()) up to which the process has recorded everything, provided that
 * it did nothing before `window` of `thread`, in which MPI came up. INT64_MAX: to its end.
 * INT64_MIN: something is missing, and from when on is not known. All threads that may call MPI (by
 * `level` of MPI_Init_thread, as in EV_MPI_READY) must be in windows at the same time. */
int64_t whole_until(const struct rt_rank *file, int32_t thread, int32_t window, int level);

#endif
