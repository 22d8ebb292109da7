/* SPDX-License-Identifier: BSD-3-Clause
 * Caches instrumented copies and skeletons in the user's cache (isa/plan/plan_cache.h), with the
 * output about them. Of many processes of a node that want those of one image, one makes them; the
 * others find them, and so does the next run. */
#ifndef REGTRACE_ISA_MEMORY_COPY_CACHE_H
#define REGTRACE_ISA_MEMORY_COPY_CACHE_H

#include "isa/plan/plan_cache.h"

struct copy_cache {
    struct cache cache;
    struct image *image;
    char *key; /* all that they depend on except the image: the options, and this program */
    size_t key_bytes;
    char path[PATH_MAX];
    int out, said; /* original standard output; the file that collects output meanwhile */
};

/* Looks for the copies and the skeleton of `image`. `options` is all else that they depend on.
 * Returns true if they are cached: writes them to the files `copies` and `skeleton`, and repeats
 * the cached output. Returns false if the caller must make them and then call copy_cache_end(). */
bool copy_cache_begin(struct copy_cache *k, const char *image, const char *options, size_t bytes,
                      const char *copies, const char *skeleton);
/* Ends what copy_cache_begin() has begun: writes the collected output to standard output. good:
 * caches the contents of the files. */
void copy_cache_end(struct copy_cache *k, bool good, const char *copies, const char *skeleton);

#endif
