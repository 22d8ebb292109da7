/* SPDX-License-Identifier: BSD-3-Clause
 * A folder that caches plans and instrumented copies (isa/memory/copy_cache.h). The key of a plan
 * is the request and the image's build id, or the identity of its file if it has none. */
#ifndef REGTRACE_ISA_PLAN_PLAN_CACHE_H
#define REGTRACE_ISA_PLAN_PLAN_CACHE_H

#include "base/toolkit/cache.h"
#include "isa/image/image.h"

#include <limits.h>

/* Writes the path of the cached plan for this image and request. Returns false without a cache. */
bool cache_path(const struct cache *c, const struct image *m, const char *request,
                char path[PATH_MAX]);
/* Writes the path of a cached file of another kind. `key` is all that the file depends on except
 * the image; `kind` is the suffix of the file's name. Returns false without a cache. */
bool cache_path_of(const struct cache *c, const struct image *m, const char *key, size_t bytes,
                   const char *kind, char path[PATH_MAX]);
/* Returns whether `path` holds a complete plan of this image and request. */
bool cache_has(const char *path, const struct image *m, const char *request);
/* Locks the cache for this image. Of many processes that want its plans, one makes them; the others
 * wait and find them. */
void cache_lock(struct cache *c, const struct image *m);
void cache_unlock(struct cache *c);

#endif
