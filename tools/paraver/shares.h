/* SPDX-License-Identifier: BSD-3-Clause
 * A text that several processes write together: each goes through all of it, and makes the lines of its blocks alone. Blocks go round:
 * the first to process 0, the next to process 1 ... What stands before the first block and behind the last is process 0's.
 *
 * A process alone has no share: functions take NULL, and it writes all. */
#ifndef REGTRACE_TOOLS_PARAVER_SHARES_H
#define REGTRACE_TOOLS_PARAVER_SHARES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct share;

/* name: of the text, among those of this conversion. *share stays NULL in a process that is alone. */
RT_MUST_CHECK int share_open(struct share **share, const char *name, struct rt_error *e);
void share_close(struct share *s);
/* Where this process writes its lines: a new file. */
const char *share_path(const struct share *s);

/* Does the block belong to this process? */
bool share_is_own(const struct share *s);
/* A block ends and the next one begins; at: bytes that this process has written so far. */
void share_next(struct share *s, uint64_t at);

/* All blocks are over; at: where the last ended, what is behind it is the end of the text. */
void share_end(struct share *s, uint64_t at);
/* This process has closed its file, in which it has made *lines: the others see it from now on. Process 0 waits for theirs and puts the
 * text together in that new file, NULL: standard output; *lines: what all have made. */
RT_MUST_CHECK int share_join(struct share *s, const char *path, uint64_t *lines,
                             struct rt_error *e);

#endif
