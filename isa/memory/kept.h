/* SPDX-License-Identifier: BSD-3-Clause
 * Clones and skeletons kept in the user's cache (isa/plan/cache.h), with what was said of them: of many processes of a node that want those of one image
 * one makes them, and so it is with the next run. */
#ifndef REGTRACE_ISA_MEMORY_KEPT_H
#define REGTRACE_ISA_MEMORY_KEPT_H

#include "isa/plan/cache.h"

struct kept {
    struct cache cache;
    struct image *image;
    char *key; /* all that they depend on but the image: the options, and this program */
    size_t key_bytes;
    char path[PATH_MAX];
    int out, said; /* where standard output leads, and what it has led to meanwhile */
};

/* To be written to files of these names; options: all that they depend on besides. True: that is done, and what was said then is said
 * again. False: they are to be made, and kept_end() called then. */
bool kept_begin(struct kept *k, const char *image, const char *options, size_t bytes,
                const char *clones, const char *skeleton);
/* good: what the files have is to be kept. */
void kept_end(struct kept *k, bool good, const char *clones, const char *skeleton);

#endif
