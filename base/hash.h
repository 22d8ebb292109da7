/* SPDX-License-Identifier: BSD-3-Clause
 * The 64-bit FNV-1a hash of bytes (Fowler, Noll, Vo). */
#ifndef REGTRACE_BASE_HASH_H
#define REGTRACE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* Returns the hash of what `hash` stands for (HASH_BEGIN: nothing), followed by these bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

#endif
