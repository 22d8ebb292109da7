/* SPDX-License-Identifier: BSD-3-Clause
 * Skeletons as C (Ketterlin and Clauss, "Efficient Memory Tracing by Program Skeletonization",
 * ISPASS 2011): one file for an image. It needs nothing else to be compiled, and replays without
 * the program. */
#ifndef REGTRACE_ISA_MEMORY_SOURCE_SOURCE_H
#define REGTRACE_ISA_MEMORY_SOURCE_SOURCE_H

#include "isa/memory/skel.h"

/* Lines, ended by NULL. */
extern const char *const skel_prelude[];

/* An output file. In the file of an image, functions are numbered from 0 on. A file that grows
 * while a program runs has the functions that are wanted then, of any image, by their numbers in
 * the recording. */
struct skel_source {
    FILE *out;
    uint32_t number; /* number of the function */
    uint32_t image;  /* number of its image */
};

/* Writes the beginning of an image's file. */
void skel_source_begin(FILE *out, const struct image *m);
/* Writes the part of the beginning that all files have in common. */
void skel_source_prelude(FILE *out);
/* Writes the skeleton of an analysed function. */
void skel_source_function(struct skel_source *s, struct function *f);
/* Flushes the file. Returns 0, or -errno if something has not been written. */
RT_MUST_CHECK int skel_source_end(struct skel_source *s);

/* Returns how many bytes the value has in the stream: 1, 2, 4 or 8. Those above are zero, or do not
 * matter; the skeleton takes them for zero. */
unsigned skel_value_bytes(const struct function *f, uint32_t value);

#endif
