/* SPDX-License-Identifier: BSD-3-Clause
 * Packs chunks of rows as HDF5's filters shuffle and deflate do, and faster. Any program with HDF5
 * reads the result.
 *
 * Level 1 is by ISA-L if its library can be loaded, else by zlib. The other levels are by
 * libdeflate, or by zlib in a build without libdeflate. */
#ifndef REGTRACE_WRITER_FILE_CHUNK_PACKER_H
#define REGTRACE_WRITER_FILE_CHUNK_PACKER_H

#include "base/error.h"

#include <stddef.h>

struct chunk_packer;

/* Returns a packer of chunks of `rows` rows, or NULL if there is no memory. `level`: of deflate, 1
 * to 9. The caller frees it with chunk_packer_free(). One thread uses it at a time. */
struct chunk_packer *chunk_packer_make(size_t rows, size_t row_bytes, unsigned level) RT_MUST_CHECK;
void chunk_packer_free(struct chunk_packer *p);

/* Packs a chunk of `count` rows, at most those of a chunk, and zeros after them. Returns the bytes
 * at *packed, which the packer owns until the next call. 0: the compressor failed. */
size_t chunk_packer_pack(struct chunk_packer *p, const void *rows, size_t count,
                         const void **packed);

#endif
