/* SPDX-License-Identifier: BSD-3-Clause
 * How long a process has recorded all that it did with MPI. */
#ifndef REGTRACE_TOOLS_MESSAGES_WHOLE_H
#define REGTRACE_TOOLS_MESSAGES_WHOLE_H

#include "writer/writer.h"

/* ns as rt_rank_ns(): what was recorded before is all that it did until then, if it did nothing before `window` of `thread`, in which MPI came
 * up; INT64_MAX: to its end. INT64_MIN: something is missing, and nobody knows from when on. Threads that may call MPI (`level`: of
 * MPI_Init_thread, as in EV_MPI_READY) have to be in windows at the same time. */
int64_t emu_whole_until(const struct rt_rank *file, int32_t thread, int32_t window, int level);

/* Does that thread alone use MPI there, by its level and the threads that were there, and is nothing lost? */
bool emu_is_single(const struct rt_rank *file, int32_t thread, int level);

#endif
