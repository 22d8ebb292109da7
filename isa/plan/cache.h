/* SPDX-License-Identifier: BSD-3-Clause
 * A folder that caches plans and instrumented copies (isa/memory/kept.h). The key of a plan is the
 * request and the image's build id, or the identity of its file if it has none. */
#ifndef REGTRACE_ISA_PLAN_CACHE_H
#define REGTRACE_ISA_PLAN_CACHE_H

#include "base/toolkit/cache.h"
#include "isa/image/image.h"

#include <limits.h>

/* Writes the path of the cached plan for this image and request. Returns false without a cache. */
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
