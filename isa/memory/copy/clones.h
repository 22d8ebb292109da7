/* SPDX-License-Identifier: BSD-3-Clause
 * The instrumented copies of an image, as a file (base/format/clone.h). */
#ifndef REGTRACE_ISA_MEMORY_COPY_CLONES_H
#define REGTRACE_ISA_MEMORY_COPY_CLONES_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/skel.h"

/* A copy, as ranges of what was emitted. */
struct clone_part {
    struct clone_function f;
    size_t fixups, fixup_count, places, place_count, calls, call_count;
};

enum clones_kind { CLONES_FUNCTIONS, CLONES_LATE, CLONES_SITES, CLONES_KINDS };

struct clones {
    struct emit e; /* in the order in which copies were made; some were made again */
    struct clone_part *parts;
    /* number of parts of each kind, in this order; room for parts */
    uint64_t counts[CLONES_KINDS], room;
    /* number for the next skeleton, as in struct skel_source */
    uint32_t number;
};

/* Returns the number of copies of all kinds. */
uint64_t clones_count(const struct clones *c);

/* Makes the copy of an analysed function; clones_add() puts it into the file. Returns NULL, or why
 * there is no copy. */
const char *clones_make(struct clones *c, struct function *f, uint32_t number,
                        struct clone_part *out);
/* Appends a copy to the file. The caller adds functions by address, then mid-function entries, then
 * copies of sites. */
void clones_add(struct clones *c, const struct clone_part *part, enum clones_kind kind);
/* Write the file. Return 0, or -errno. */
RT_MUST_CHECK int clones_put(const struct clones *c, FILE *out);
RT_MUST_CHECK int clones_write(const struct clones *c, const char *path);
void clones_free(struct clones *c);

#endif
