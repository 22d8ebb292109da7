/* SPDX-License-Identifier: BSD-3-Clause
 * Skeletons of a run's folder, compiled by the machine's compiler: what is entered of them. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_BUILD_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_BUILD_H

#include "base/format/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A recording: a thread's, in one of the programs that a process has been. */
struct skel_recording {
    char path[PATH_MAX];
    unsigned program; /* how many with recordings the process had been before */
    bool had_some;    /* its replay had something to replay: known from its end on */
    struct memory_head head;
};

/* Some functions of a skeleton. */
struct skel_built {
    char name[sizeof((struct memory_head *)0)->late]; /* of the skeleton's C */
    char path[PATH_MAX + 32];                         /* "": nothing is entered */
    uint32_t *functions;                              /* those that were selected, by number */
    size_t count;
    bool failed; /* and a message has said so */
};

struct skel_builds {
    const char *folder;                 /* of recordings and skeletons */
    struct skel_recording *const *list; /* all that may be built for */
    size_t count;
    char temporary[PATH_MAX]; /* a folder of ours */
    bool counts;              /* they count what they read (isa/memory/source/prelude.c); false as opened */
    bool keeps;               /* what is compiled is kept (skel_kept.h); false as opened */
    size_t jobs;              /* compilers at once; 0 as opened */
    bool hopeless;            /* nothing can be compiled, as a message has said */
    struct skel_built **built;
    size_t built_count;
};

/* False, with a message: no folder can be made. */
bool skel_builds_open(struct skel_builds *b, const char *folder);
/* The compiled skeleton's path, which stays theirs: that of image number `image` of this recording, or the late ones (-1), with what has been
 * entered in all recordings; "": nothing of it was. NULL: it cannot be compiled; a message says why, once. */
const char *skel_build(struct skel_builds *b, const struct skel_recording *r, int image);
/* One that has that function of the recording, and those that may be entered soon behind that offset of its log. *image: as above. NULL: no
 * skeleton has it, or a message. */
const char *skel_build_more(struct skel_builds *b, const struct skel_recording *r, uint32_t number,
                            uint64_t from, int *image);
void skel_builds_close(struct skel_builds *b);

#endif
