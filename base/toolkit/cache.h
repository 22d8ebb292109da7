/* SPDX-License-Identifier: BSD-3-Clause
 * Cached files, each made once: in the user's own cache or in another folder. */
#ifndef REGTRACE_BASE_TOOLKIT_CACHE_H
#define REGTRACE_BASE_TOOLKIT_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache {
    char folder[PATH_MAX - 256]; /* "": there is no cache */
    int lock;                    /* lock of one image (isa/plan/plan_cache.h); -1: none */
};

/* Opens the cache in `folder`; NULL stands for the user's own, $XDG_CACHE_HOME/regtrace or
 * ~/.cache/regtrace. If that cannot be written, as on nodes that mount home folders read-only, it
 * is $TMPDIR/regtrace-UID or /tmp/regtrace-UID. Creates a missing folder. There is no cache if the
 * folder cannot be created, or if others may write into it. */
void cache_open(struct cache *c, const char *folder);
/* Writes the path of the cached file for this image and key. `id` is the image's build id in
 * hexadecimal, or the text from cache_id_of(). `version` is the version of the file format; `kind`
 * is the suffix of the file name. Returns false if there is no cache or no id. */
bool cache_path_for(const struct cache *c, const char *id, uint64_t image_bytes, unsigned version,
                    const void *key, size_t n, const char *kind, char path[PATH_MAX]);
/* Makes an id for an image without a build id. The id changes when the content of the file
 * changes. */
#define CACHE_ID_ROOM 24
struct stat;
void cache_id_of(const struct stat *st, char id[CACHE_ID_ROOM]);
/* Lets one process of this user at a time make the file at `path`. Waits at most ten seconds for
 * the other processes. The caller looks for the file again afterwards, because another process may
 * have made it. Returns a descriptor that the caller closes, or -1 if the file system has no locks
 * or another process takes too long. A process holds one claim at a time; a child of fork does not
 * inherit it. */
int cache_claim(const struct cache *c, const char *path);
/* Maps the file at `path`; the caller unmaps it with munmap(2). Returns NULL if there is no such
 * file, or if users other than this one and root may have written it. */
const void *cache_map(const char *path, size_t *bytes);
/* Writes a file at `path`, which lies in `folder`: all of it or nothing, even if other processes
 * write it at the same time. Returns false if it cannot. */
bool cache_put(const char *folder, const char *path, const uint8_t *bytes, size_t n);

#endif
