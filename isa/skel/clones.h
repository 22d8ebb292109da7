/* SPDX-License-Identifier: BSD-3-Clause
 * The clones of an image, as a file (clone.h). */
#ifndef REGTRACE_ISA_SKEL_CLONES_H
#define REGTRACE_ISA_SKEL_CLONES_H

#include "isa/skel/emit.h"
#include "isa/skel/skel.h"

struct clones {
    struct emit e;
    struct clone_function *functions;
    uint64_t function_count, late_count, room; /* late ones last */
    uint32_t number;                           /* of the next skeleton: as in skel_source */
};

/* An analysed function. NULL, or why it has no clone. */
const char *clones_add(struct clones *c, struct function *f);
/* 0, or -errno. */
RT_MUST_CHECK int clones_put(const struct clones *c, FILE *out);
RT_MUST_CHECK int clones_write(const struct clones *c, const char *path);
void clones_free(struct clones *c);

#endif
