/* SPDX-License-Identifier: BSD-3-Clause
 * Caches compiled skeletons, in the run's folder or else in the user's cache. The key is a hash of
 * the source and the compiler. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_COMPILED_CACHE_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_COMPILED_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct compiled_cache {
    const char *folder; /* the run's folder of recordings */
    uint64_t key[2];
};

/* Computes the key from the compiler words[0], which is looked up in PATH, its options up to a
 * NULL, and the contents of two files. Returns false if there is no key; nothing is cached then. */
bool compiled_cache_key(struct compiled_cache *k, const char *folder, const char *const *words,
                        const char *some, const char *source);
/* Copies the cached object to `path` if it is complete and nobody else may have written it. Returns
 * whether it did. */
bool compiled_cache_get(const struct compiled_cache *k, const char *path);
/* Caches the object that has been compiled to `path`. */
void compiled_cache_put(const struct compiled_cache *k, const char *path);

#endif
