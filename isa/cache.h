/* SPDX-License-Identifier: BSD-3-Clause
 * Plans kept in a folder, by build id and request; and clones (isa/skel/kept.h). */
#ifndef REGTRACE_ISA_CACHE_H
#define REGTRACE_ISA_CACHE_H

#include "isa/image.h"

#include <limits.h>

struct cache {
    char folder[PATH_MAX - 256]; /* "": there is none */
    int lock;                    /* of one image; -1 */
};

/* folder: NULL for the user's own, $XDG_CACHE_HOME/regtrace or ~/.cache/regtrace. Made where it is not there. Where it cannot be
 * made, or others may write into it, there is no cache. */
void cache_open(struct cache *c, const char *folder);
/* Where the plan of that image and request is kept. False: nowhere (no cache, or the image has no build id). */
bool cache_path(const struct cache *c, const struct image *m, const char *request,
                char path[PATH_MAX]);
/* ... and what of another kind is kept, by all that it depends on: `kind` is how the file's name ends. */
bool cache_path_of(const struct cache *c, const struct image *m, const char *key, size_t bytes,
                   const char *kind, char path[PATH_MAX]);
/* What is there, to be unmapped by munmap(2). NULL: nothing, or it is not this user's own. */
const void *cache_map(const char *path, size_t *bytes);
/* A whole plan is there. */
bool cache_has(const char *path, const struct image *m, const char *request);
/* Of many processes that want plans of one image, one makes them; the others wait and find them. */
void cache_lock(struct cache *c, const struct image *m);
void cache_unlock(struct cache *c);
/* All of it or nothing, whoever else writes it too. */
bool cache_put(const struct cache *c, const char *path, const uint8_t *bytes, size_t n);

#endif
