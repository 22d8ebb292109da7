/* SPDX-License-Identifier: BSD-3-Clause
 * Compiles the skeletons of a run's folder with the machine's compiler: the functions that
 * recordings enter. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_BUILD_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_BUILD_H

#include "base/format/memory_recording.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A recording: one thread's, in one of the programs that its process executed. */
struct skel_recording {
    char path[PATH_MAX];
    unsigned program; /* number of earlier programs of the process that have recordings */
    bool had_some;    /* its replay had something to replay; known when it has ended */
    struct memory_head head;
};

/* Compiled functions of one skeleton. */
struct skel_built {
    char name[sizeof((struct memory_head *)0)->late]; /* file name of the skeleton's C */
    char path[PATH_MAX + 32]; /* shared object; "": no function is entered */
    uint32_t *functions;      /* numbers of the functions in it, in order */
    size_t count;
    bool failed; /* a message was printed */
};

struct skel_builds {
    const char *folder;                 /* folder of recordings and skeletons */
    struct skel_recording *const *list; /* recordings to compile for */
    size_t count;
    char temporary[PATH_MAX]; /* our temporary folder */
    /* Skeletons count the values that they read (isa/memory/source/prelude.c). skel_builds_open()
     * sets false. */
    bool counts;
    /* Compiled skeletons are cached (compiled_cache.h). skel_builds_open() sets false. */
    bool keeps;
    size_t jobs;   /* compilers at once; skel_builds_open() sets 0 */
    bool hopeless; /* nothing can be compiled; a message was printed */
    struct skel_built **built;
    size_t built_count;
};

/* Initializes *b and creates its temporary folder. Returns false, and prints a message, if it
 * cannot. */
bool skel_builds_open(struct skel_builds *b, const char *folder);
/* Compiles the skeleton of image number `image` of this recording, or (-1) that of its mid-function
 * entries, with all functions that any recording enters. Returns the path of the shared object,
 * which belongs to *b; "" if no function is entered; NULL if it cannot be compiled. Prints a
 * message the first time. */
const char *skel_build(struct skel_builds *b, const struct skel_recording *r, int image);
/* Compiles that function of the recording, and those that the log may enter soon after offset
 * `from`, or finds them compiled. Sets *image as in skel_build(). Returns the path of the shared
 * object, or NULL if no skeleton has the function or compilation failed with a message. */
const char *skel_build_more(struct skel_builds *b, const struct skel_recording *r, uint32_t number,
                            uint64_t from, int *image);
/* Returns whether the function of this number was compiled. */
bool skel_built_has(const struct skel_built *b, uint32_t function);
void skel_builds_close(struct skel_builds *b);

#endif
