/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that were entered, their loops, and their instructions that access memory, for all
 * images of a run's recordings. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_SHAPES_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_SHAPES_H

#include "base/toolkit/key_table.h"
#include "tools/memory/skel_command.h"
#include "writer/writer.h"

#define SKEL_NO_IMAGE UINT32_MAX

/* Rows as in a file of accesses; the shapes own the texts. skeletons[n] is the skeleton of
 * images[n]. */
struct skel_shapes {
    char (*skeletons)[sizeof((struct memory_image *)0)->skeleton];
    struct rt_accesses_image *images;
    struct rt_accesses_function *functions;
    struct rt_accesses_loop *loops;
    struct rt_accesses_place *places;
    size_t image_count, function_count, loop_count, place_count;
    struct key_table place_keys; /* high: image, low: address; its numbers are rows of `places` */
};

/* Reads the shapes of all skeletons that the folder has compiled so far. Returns false, and prints
 * a message, on failure. The caller calls skel_shapes_free() in any case. */
bool skel_shapes_read(struct skel_shapes *s, const struct skel_folder *f);
/* Looks up readable names of functions, and source lines of loops and places, in the images as they
 * are now on this machine. */
void skel_shapes_resolve(struct skel_shapes *s);
/* Returns the image row of a skeleton, or SKEL_NO_IMAGE if no function of it was entered. */
uint32_t skel_shapes_image(const struct skel_shapes *s, const char *skeleton);
/* Returns an instruction by its address in the image's file, or NULL if it is not known. */
const struct rt_accesses_place *skel_shapes_find(const struct skel_shapes *s, uint32_t image,
                                                 uint64_t address);
void skel_shapes_free(struct skel_shapes *s);

#endif
