/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the names that are most similar to a misspelt one. For programs; no library links it. */
#ifndef REGTRACE_BASE_NAMES_NEAREST_H
#define REGTRACE_BASE_NAMES_NEAREST_H

#include <stddef.h>

/* Keeps the names that are most similar to the wanted one, at most three. near_names_text() gives
 * "; nearest are A, B, C" or "". A name that begins with the wanted one, or that the wanted one
 * begins with, is nearer than a name that contains it; such a name is nearer than all others. */
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
