/* SPDX-License-Identifier: BSD-3-Clause
 * Plans kept in a folder, by the build id, or else the file, and the request; and clones
 * (isa/skel/kept.h). */
#ifndef REGTRACE_ISA_CACHE_H
#define REGTRACE_ISA_CACHE_H

#include "base/cache.h"
#include "isa/image.h"

#include <limits.h>

/* Where the plan of that image and request is kept. False: there is no cache. */
bool cache_path(const struct cache *c, const struct image *m, const char *request,
                char path[PATH_MAX]);
/* ... and what of another kind is kept, by all that it depends on: `kind` is how the file's name ends. */
bool cache_path_of(const struct cache *c, const struct image *m, const char *key, size_t bytes,
                   const char *kind, char path[PATH_MAX]);
/* A whole plan is there. */
bool cache_has(const char *path, const struct image *m, const char *request);
/* Of many processes that want plans of one image, one makes them; the others wait and find them. */
void cache_lock(struct cache *c, const struct image *m);
void cache_unlock(struct cache *c);

#endif
