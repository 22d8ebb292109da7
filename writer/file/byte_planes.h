/* SPDX-License-Identifier: BSD-3-Clause
 * Rows to planes of bytes and back, as HDF5's shuffle filter lays them out: the first bytes of all
 * rows, then all second bytes, ... */
#ifndef REGTRACE_WRITER_FILE_BYTE_PLANES_H
#define REGTRACE_WRITER_FILE_BYTE_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* Makes `row_bytes` planes of `plane_bytes` bytes each: those of `count` rows, count at most
 * plane_bytes, and zeros after them. `planes` does not overlap `rows`. */
void byte_planes_split(const void *rows, size_t count, size_t row_bytes, uint8_t *planes,
                       size_t plane_bytes);

/* Makes the first `count` rows of planes of `plane_bytes` bytes each. `rows` does not overlap
 * `planes`. */
void byte_planes_join(const uint8_t *planes, size_t plane_bytes, size_t count, size_t row_bytes,
                      void *rows);

#endif
