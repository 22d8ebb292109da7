/* SPDX-License-Identifier: BSD-3-Clause
 * Skeletons as C (seed 004): one file for an image, which needs nothing else to be compiled and replays without the program. */
#ifndef REGTRACE_ISA_MEMORY_SOURCE_SOURCE_H
#define REGTRACE_ISA_MEMORY_SOURCE_SOURCE_H

#include "isa/memory/skel.h"

/* Lines, and NULL. */
extern const char *const skel_prelude[];

/* A file of one image has its functions numbered from 0 on. One that is added to as a program runs has those that are wanted then, of whatever
 * image, by their numbers in the recording. */
struct skel_source {
    FILE *out;
    uint32_t number; /* the function's */
    uint32_t image;  /* of which image it is, by number */
};

void skel_source_begin(FILE *out, const struct image *m);
/* Of which the last part is what all have in common. */
void skel_source_prelude(FILE *out);
/* An analysed function. */
void skel_source_function(struct skel_source *s, struct function *f);
/* 0, or -errno: what has not been written. */
RT_MUST_CHECK int skel_source_end(struct skel_source *s);

/* In the stream: 1, 2, 4 or 8. What it has above them is zero, or matters to nobody: the skeleton takes it for zero. */
unsigned skel_value_bytes(const struct function *f, uint32_t value);

#endif
