/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that were entered, their loops, and the instructions of them that access memory, of all images of a run's recordings. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_SHAPES_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_SHAPES_H

#include "tools/memory/skel.h"
#include "writer/writer.h"

#define SKEL_NO_IMAGE UINT32_MAX

/* Rows as a file of accesses has them; texts are the shapes' own. Row n of skeletons belongs to image n. */
struct skel_shapes {
    char (*skeletons)[sizeof((struct memory_image *)0)->skeleton];
    struct rt_accesses_image *images;
    struct rt_accesses_function *functions;
    struct rt_accesses_loop *loops;
    struct rt_accesses_place *places;
    size_t image_count, function_count, loop_count, place_count;
    uint32_t *table; /* hash of places: row + 1 */
    size_t table_size;
};

/* Of all skeletons that the folder has compiled by now. False, and a message. Free it in any case. */
bool skel_shapes_read(struct skel_shapes *s, const struct skel_folder *f);
/* Readable names of functions, and lines of loops and places, from images as they are now on this machine. */
void skel_shapes_resolve(struct skel_shapes *s);
/* The image of a skeleton, SKEL_NO_IMAGE: nothing of it was entered. */
uint32_t skel_shapes_image(const struct skel_shapes *s, const char *skeleton);
/* An instruction by its address in the image's file; NULL: it is not known. */
const struct rt_accesses_place *skel_shapes_find(const struct skel_shapes *s, uint32_t image,
                                                 uint64_t address);
void skel_shapes_free(struct skel_shapes *s);

#endif
