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
/* The path of the file that is kept about an image for a key: `id` is its build id in hexadecimal,
 * or cache_id_of(); `version` is the format's, `kind` is how the file's name ends. False: there
 * is no cache, or no id. */
bool cache_path_for(const struct cache *c, const char *id, uint64_t image_bytes, unsigned version,
                    const void *key, size_t n, const char *kind, char path[PATH_MAX]);
/* For images without a build id: any other content of that file has another id. */
#define CACHE_ID_ROOM 24
struct stat;
void cache_id_of(const struct stat *st, char id[CACHE_ID_ROOM]);
/* Of many processes of this user that find no file at `path`, one at a time may make it: waits
 * until it is this one's turn, ten seconds at most. Look again afterwards: another may have made
 * it meanwhile. Returns a descriptor, to be closed; -1 where the file system has no locks, or
 * another takes too long. A process holds one at a time; children of fork do not hold it. */
int cache_claim(const struct cache *c, const char *path);
/* What is there, to be unmapped by munmap(2). NULL: nothing, or others than this user and root may have written it. */
const void *cache_map(const char *path, size_t *bytes);
/* To a path in that folder: all of it or nothing, whoever else writes it too. */
bool cache_put(const char *folder, const char *path, const uint8_t *bytes, size_t n);

#endif
