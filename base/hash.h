/* SPDX-License-Identifier: BSD-3-Clause
 * The 64-bit FNV-1a hash (Fowler, Noll, Vo) of bytes, or of words of 8 bytes. Files hold hashes of
 * both kinds, and checksums. */
#ifndef REGTRACE_BASE_HASH_H
#define REGTRACE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* Adds a 64-bit word to a hash in one step (HASH_BEGIN: of nothing). Adding its 8 bytes gives
 * another hash. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(1099511628211);
}

/* Adds these bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = hash_word(hash, ((const uint8_t *)bytes)[i]);
    return hash;
}

/* Returns a checksum of many bytes: the hash of their words of 8 bytes, then of the bytes that are
 * left. If one word differs, so does the checksum. */
static inline uint64_t hash_checksum(const void *bytes, size_t n)
{
    uint64_t hash = HASH_BEGIN, word;
    for (size_t i = 0; i < n / sizeof word; i++) {
        memcpy(&word, (const uint8_t *)bytes + i * sizeof word, sizeof word);
        hash = hash_word(hash, word);
    }
    return hash_bytes(hash, (const uint8_t *)bytes + n / sizeof word * sizeof word,
                      n % sizeof word);
}

#endif
