/* SPDX-License-Identifier: BSD-3-Clause
 * Many sequences of bytes, written side by side and read one after the other, in a file without a name.
 *
 * Memory: up to 4 KiB a sequence, and 16 bytes for each 4 KiB written. Functions that can fail return 0 or -errno and have the reason in *e. */
#ifndef REGTRACE_TOOLS_TIMELINE_SPOOL_H
#define REGTRACE_TOOLS_TIMELINE_SPOOL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SPOOL_PIECE = 4096 };

struct spool;

/* In that folder. */
RT_MUST_CHECK int spool_open(struct spool **spool, const char *dir, struct rt_error *e);
void spool_close(struct spool *s);

/* n <= SPOOL_PIECE bytes behind those of a sequence; they are read as one piece. Sequences are there by being written to. What fails is told by
 * spool_end(). */
void spool_put(struct spool *s, uint32_t sequence, const void *bytes, size_t n);
/* All is written. */
RT_MUST_CHECK int spool_end(struct spool *s, struct rt_error *e);
/* The pieces of a sequence in their order; what take() returns, where that is not 0, ends it. */
RT_MUST_CHECK int spool_read(struct spool *s, uint32_t sequence,
                             int (*take)(void *context, const uint8_t *bytes, size_t n),
                             void *context, struct rt_error *e);

#endif
