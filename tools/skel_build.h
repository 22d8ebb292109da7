/* SPDX-License-Identifier: BSD-3-Clause
 * Skeletons of a run's folder, compiled by the machine's compiler: what is entered of them. */
#ifndef REGTRACE_TOOLS_SKEL_BUILD_H
#define REGTRACE_TOOLS_SKEL_BUILD_H

#include "base/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A recording: a thread's, in one of the programs that a process has been. */
struct skel_recording {
    char path[PATH_MAX];
    unsigned
        program; /* how many programs the process had been before, of those that have recordings */
    struct memory_head head;
};

struct skel_built {
    char name[sizeof((struct memory_head *)0)->late]; /* of the skeleton's C */
    char path[PATH_MAX + 32];                         /* "": nothing is entered */
};

struct skel_builds {
    const char *folder; /* of recordings and skeletons */
    const struct skel_recording *list;
    size_t count;
    char temporary[PATH_MAX]; /* a folder of ours */
    bool counts;              /* they count what they read (isa/skel/prelude.c); false as opened */
    struct skel_built *built;
    size_t built_count;
};

/* False, with a message: no folder can be made. */
bool skel_builds_open(struct skel_builds *b, const char *folder, const struct skel_recording *list,
                      size_t count);
/* The compiled skeleton's path, which stays theirs: that of image number `image` of this recording, or the late ones (-1); "": nothing of it
 * was entered. NULL: it cannot be compiled; a message says why. */
const char *skel_build(struct skel_builds *b, const struct skel_recording *r, int image);
void skel_builds_close(struct skel_builds *b);

#endif
