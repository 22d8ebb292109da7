/* SPDX-License-Identifier: BSD-3-Clause
 * Lets several processes write one text together. Each process goes through the whole text but
 * makes only the lines of its own blocks. Blocks are assigned in turn: the first to process 0, the
 * second to process 1, and so on. Process 0 also writes the text before the first block and after
 * the last one.
 *
 * A process that is alone has no share and writes everything; share_close(), share_is_own() and
 * share_next() take NULL. */
#ifndef REGTRACE_TOOLS_STREAMS_SHARES_H
#define REGTRACE_TOOLS_STREAMS_SHARES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct share;

/* Opens the share of the text `name`, which is unique within this conversion. *share stays NULL in
 * a process that is alone. */
RT_MUST_CHECK int share_open(struct share **share, const char *name, struct rt_error *e);
void share_close(struct share *s);
/* Returns the path of the new file to which this process writes its lines. */
const char *share_path(const struct share *s);

/* Returns whether the current block belongs to this process. */
bool share_is_own(const struct share *s);
/* Ends a block and begins the next one. at: bytes that this process has written so far. */
void share_next(struct share *s, uint64_t at);

/* Ends the last block. at: bytes that this process has written so far; the lines that follow are
 * the end of the text. */
void share_end(struct share *s, uint64_t at);
/* Publishes this process's file, which it has closed and which has *lines lines. Process 0 then
 * waits for the other files, joins the text in the new file `path` (NULL: standard output), and
 * sets *lines to the lines of all processes. */
RT_MUST_CHECK int share_join(struct share *s, const char *path, uint64_t *lines,
                             struct rt_error *e);

#endif
