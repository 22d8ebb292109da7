/* SPDX-License-Identifier: BSD-3-Clause
 * Compiled skeletons that are kept, in the run's folder or else in the user's cache: by what they are compiled from, and by what. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_KEPT_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct skel_kept {
    const char *folder; /* the run's */
    uint64_t key[2];
};

/* Of a compiler, as its name is found, with these options, ended by NULL, and of the contents of two files. False: there is none, and nothing is kept. */
bool skel_kept_key(struct skel_kept *k, const char *folder, const char *const *words,
                   const char *some, const char *source);
/* Copied to that path, where it is whole and nobody else's. */
bool skel_kept_get(const struct skel_kept *k, const char *path);
/* What has been compiled to that path. */
void skel_kept_put(const struct skel_kept *k, const char *path);

#endif
