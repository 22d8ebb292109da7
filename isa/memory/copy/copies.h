/* SPDX-License-Identifier: BSD-3-Clause
 * The instrumented copies of an image, as a file (base/format/copy.h). */
#ifndef REGTRACE_ISA_MEMORY_COPY_COPIES_H
#define REGTRACE_ISA_MEMORY_COPY_COPIES_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/skel.h"

/* A copy, as ranges of what was emitted. */
struct copy_part {
    struct copy_function f;
    size_t fixups, fixup_count, places, place_count, calls, call_count;
};

enum copies_kind { COPIES_FUNCTIONS, COPIES_LATE, COPIES_SITES, COPIES_KINDS };

struct copies {
    struct emit e; /* in the order in which copies were made; some were made again */
    struct copy_part *parts;
    /* number of parts of each kind, in this order; room for parts */
    uint64_t counts[COPIES_KINDS], room;
    /* number for the next skeleton, as in struct skel_source */
    uint32_t number;
};

/* Returns the number of copies of all kinds. */
uint64_t copies_count(const struct copies *c);

/* Makes the copy of an analysed function; copies_add() puts it into the file. Returns NULL, or why
 * there is no copy. */
const char *copies_make(struct copies *c, struct function *f, uint32_t number,
                        struct copy_part *out);
/* Appends a copy to the file. The caller adds functions by address, then mid-function entries, then
 * copies of sites. */
void copies_add(struct copies *c, const struct copy_part *part, enum copies_kind kind);
/* Write the file. Return 0, or -errno. */
RT_MUST_CHECK int copies_put(const struct copies *c, FILE *out);
RT_MUST_CHECK int copies_write(const struct copies *c, const char *path);
void copies_free(struct copies *c);

#endif
