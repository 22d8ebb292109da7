/* SPDX-License-Identifier: BSD-3-Clause
 * How far apart two texts are. */
#ifndef REGTRACE_BASE_DISTANCE_H
#define REGTRACE_BASE_DISTANCE_H

/* Levenshtein's distance: letters to insert, to remove or to replace. Looks at the first
 * TEXT_DISTANCE_MAX of each. */
#define TEXT_DISTANCE_MAX 95
unsigned text_distance(const char *a, const char *b);

#endif
