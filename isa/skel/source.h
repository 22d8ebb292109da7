/* SPDX-License-Identifier: BSD-3-Clause
 * Skeletons as C (seed 004): one file for an image, which needs nothing else to be compiled and replays without the program. */
#ifndef REGTRACE_ISA_SKEL_SOURCE_H
#define REGTRACE_ISA_SKEL_SOURCE_H

#include "isa/skel/skel.h"

/* Lines, and NULL. */
extern const char *const skel_prelude[];

struct skel_source {
    FILE *out, *table; /* the table of functions is written behind them */
    uint32_t count;    /* functions so far; the next one's number */
};

/* False: there is no memory for the table. */
RT_MUST_CHECK bool skel_source_begin(struct skel_source *s, FILE *out, const struct image *m);
/* An analysed function. */
void skel_source_function(struct skel_source *s, struct function *f);
/* 0, or -errno: what has not been written. */
RT_MUST_CHECK int skel_source_end(struct skel_source *s);

/* In the stream: 1, 2, 4 or 8. */
unsigned skel_value_bytes(const struct function *f, uint32_t value);

#endif
