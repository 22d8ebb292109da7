/* SPDX-License-Identifier: BSD-3-Clause
 * Opens the run that a subcommand reads. */
#ifndef REGTRACE_TOOLS_OPEN_RUN_H
#define REGTRACE_TOOLS_OPEN_RUN_H

#include "tools/tools.h"
#include "writer/writer.h"

/* Opens a run. Waits up to wait_seconds for files whose process is gone but whose writer still
 * lives. Builds regtrace.h5 if it is missing and all files are closed. Returns NULL after printing
 * a message on failure. */
struct rt_run *tool_open_run(const char *command, const char *path, uint64_t wait_seconds);

/* Returns the start of the earliest thread of a run, in ns of CLOCK_MONOTONIC on the node of rank
 * 0; 0: unknown. Sets *unread to the number of files that could not be opened, and *e to why the
 * last of them could not. A caller that can read all files later must fail: the origin is that of
 * the others. */
int64_t tool_run_origin(const struct rt_run *run, size_t *unread, struct rt_error *e);

#endif
