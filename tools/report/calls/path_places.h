/* SPDX-License-Identifier: BSD-3-Clause
 * The place of each call path of a rank file, for all ranks. Each is looked up once. */
#ifndef REGTRACE_TOOLS_REPORT_CALLS_PATH_PLACES_H
#define REGTRACE_TOOLS_REPORT_CALLS_PATH_PLACES_H

#include "writer/writer.h"

#include <stdbool.h>
#include <stdint.h>

/* KEY_NONE: unknown. */
struct path_place {
    uint32_t item; /* of the addresses: its call site */
    uint32_t node; /* of the call tree */
};

/* Of one file. Initially all zero; free with path_places_free(). */
struct path_places {
    struct placed_path *rows; /* by row of its /paths; NULL: none is known yet */
};

struct report;

/* Finds the place of a call path of this file; of path 0, or one that the file does not have, it is
 * unknown. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int path_places_find(struct path_places *p, struct report *r,
                                   const struct rt_rank *file, uint32_t path,
                                   struct path_place *place);
void path_places_free(struct path_places *p);

#endif
