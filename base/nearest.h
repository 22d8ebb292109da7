/* SPDX-License-Identifier: BSD-3-Clause
 * Which names are most like a misspelt one. For programs; in no library. */
#ifndef REGTRACE_BASE_NEAREST_H
#define REGTRACE_BASE_NEAREST_H

#include <stddef.h>

/* Of many names those that are most like one, at most three: near_names_text() gives "; nearest are
 * A, B, C" or "". Names that begin alike are nearer than names that contain it, and those are
 * nearer than all others. */
struct near_names {
    const char *wanted;
    struct near_name {
        unsigned distance;
        char name[96];
    } best[3];
};
void near_names_look(struct near_names *n, const char *name);
void near_names_text(const struct near_names *n, char *out, size_t room);

#endif
