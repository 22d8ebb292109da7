/* SPDX-License-Identifier: BSD-3-Clause
 * Writes many sequences of bytes at the same time to an unnamed file, to read them one after the
 * other.
 *
 * Memory: up to 4 KiB a sequence, and 16 bytes for each 4 KiB written. Functions that can fail
 * return 0, or -errno with the reason in *e. */
#ifndef REGTRACE_TOOLS_TIMELINE_SPOOL_H
#define REGTRACE_TOOLS_TIMELINE_SPOOL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SPOOL_PIECE = 4096 };

struct spool;

/* Makes the file in the folder `dir`. */
RT_MUST_CHECK int spool_open(struct spool **spool, const char *dir, struct rt_error *e);
void spool_close(struct spool *s);

/* Appends n <= SPOOL_PIECE bytes to a sequence; they are read back within one piece. A sequence
 * begins with its first bytes. Failures are reported by spool_end(). */
void spool_put(struct spool *s, uint32_t sequence, const void *bytes, size_t n);
/* Ends the writing. Returns the first failure since spool_open(). */
RT_MUST_CHECK int spool_end(struct spool *s, struct rt_error *e);
/* Reads the pieces of a sequence in order. A result of take() other than 0 ends the reading and is
 * returned. */
RT_MUST_CHECK int spool_read(struct spool *s, uint32_t sequence,
                             int (*take)(void *context, const uint8_t *bytes, size_t n),
                             void *context, struct rt_error *e);

#endif
