/* SPDX-License-Identifier: BSD-3-Clause
 * Files that are kept to be made once: in the user's own cache, or elsewhere. */
#ifndef REGTRACE_BASE_CACHE_H
#define REGTRACE_BASE_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache {
    char folder[PATH_MAX - 256]; /* "": there is none */
    int lock;                    /* of one image (isa/cache.h); -1 */
};

/* folder: NULL for the user's own, $XDG_CACHE_HOME/regtrace or ~/.cache/regtrace. Made where it is not there. Where it cannot be
 * made, or others may write into it, there is no cache. */
void cache_open(struct cache *c, const char *folder);
/* FNV-1a: of more bytes behind those that `hash` is of. */
#define CACHE_HASH UINT64_C(14695981039346656037)
uint64_t cache_hash(uint64_t hash, const void *bytes, size_t n);
/* What is there, to be unmapped by munmap(2). NULL: nothing, or others than this user and root may have written it. */
const void *cache_map(const char *path, size_t *bytes);
/* To a path in that folder: all of it or nothing, whoever else writes it too. */
bool cache_put(const char *folder, const char *path, const uint8_t *bytes, size_t n);

#endif
