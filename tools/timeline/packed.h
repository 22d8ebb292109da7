/* SPDX-License-Identifier: BSD-3-Clause
 * Writes bytes as text into a page: deflated (RFC 1950), then base64 (RFC 4648). For tools/timeline
 * only. */
#ifndef REGTRACE_TOOLS_TIMELINE_PACKED_H
#define REGTRACE_TOOLS_TIMELINE_PACKED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct packed;

RT_MUST_CHECK int packed_open(struct packed **packed, FILE *out, struct rt_error *e);
void packed_put(struct packed *p, const void *bytes, size_t n);
/* Returns how many bytes have been put. */
uint64_t packed_size(const struct packed *p);
/* Writes the rest and frees `p`, even on failure. Reports failures of zlib only; write errors show
 * in ferror() of the FILE. */
RT_MUST_CHECK int packed_close(struct packed *p, struct rt_error *e);

#endif
