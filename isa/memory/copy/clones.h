/* SPDX-License-Identifier: BSD-3-Clause
 * The clones of an image, as a file (clone.h). */
#ifndef REGTRACE_ISA_MEMORY_COPY_CLONES_H
#define REGTRACE_ISA_MEMORY_COPY_CLONES_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/skel.h"

/* One clone, as parts of what was emitted. */
struct clone_part {
    struct clone_function f;
    size_t fixups, fixup_count, places, place_count, calls, call_count;
};

enum clones_kind { CLONES_FUNCTIONS, CLONES_LATE, CLONES_SITES, CLONES_KINDS };

struct clones {
    struct emit e; /* in the order in which clones were made; some have been made again */
    struct clone_part *parts;
    uint64_t counts[CLONES_KINDS], room; /* in this order */
    uint32_t number;                     /* of skeletons: as in skel_source */
};

/* Of all kinds. */
uint64_t clones_count(const struct clones *c);

/* That of an analysed function, which is in no file yet. NULL, or why it has none. */
const char *clones_make(struct clones *c, struct function *f, uint32_t number,
                        struct clone_part *out);
/* Into the file, behind the others: functions by address, then late ones, then those of sites. */
void clones_add(struct clones *c, const struct clone_part *part, enum clones_kind kind);
/* 0, or -errno. */
RT_MUST_CHECK int clones_put(const struct clones *c, FILE *out);
RT_MUST_CHECK int clones_write(const struct clones *c, const char *path);
void clones_free(struct clones *c);

#endif
