/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers what threads do: MPI calls by function and call path, and what they do between them. */
#ifndef REGTRACE_TOOLS_CAUSES_ACTIVITIES_H
#define REGTRACE_TOOLS_CAUSES_ACTIVITIES_H

#include "base/toolkit/key_table.h"

enum activity_kind {
    ACTIVITY_EDGE,     /* what is not recorded before it. first: enum activity_edge */
    ACTIVITY_CALL,     /* first: MPI function, second: node of its call path; KEY_NONE: unknown */
    ACTIVITY_BETWEEN,  /* first, second: numbers of the edges or calls before and after it */
    ACTIVITY_REGION,   /* first: number of its name; see struct history_names */
    ACTIVITY_FUNCTION, /* first: number of the function, second: of its call site (KEY_NONE:
                        * unknown) */
};

/* Where the time that is known begins and ends. These are the numbers of their activities, too. */
enum activity_edge {
    EDGE_OPENS,       /* a window opens */
    EDGE_INITIALIZED, /* MPI_Init returns: what was before is no part of the run */
    EDGE_DROPPED,     /* events were dropped before */
    EDGE_CLOSES,      /* a window closes */
    EDGE_FINALIZES,   /* MPI_Finalize begins */
    EDGES
};

struct activity {
    enum activity_kind kind;
    uint32_t first, second;
};

/* Zero-initialize, then activities_begin(); free with activities_free(). */
struct activities {
    struct key_table keys;
};

/* Adds the edges. Returns 0 or -ENOMEM. */
int activities_begin(struct activities *a);
/* Returns the activity's number, a new one (count - 1) if it has none; KEY_NONE without memory. */
uint32_t activities_add(struct activities *a, enum activity_kind kind, uint32_t first,
                        uint32_t second);
struct activity activities_at(const struct activities *a, uint32_t number);
uint32_t activities_count(const struct activities *a);
void activities_free(struct activities *a);

#endif
