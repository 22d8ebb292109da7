/* SPDX-License-Identifier: BSD-3-Clause
 * Edit distance of two texts. */
#ifndef REGTRACE_BASE_NAMES_DISTANCE_H
#define REGTRACE_BASE_NAMES_DISTANCE_H

/* Returns the Levenshtein distance: the number of characters to insert, remove or replace. Compares
 * at most the first TEXT_DISTANCE_MAX characters of each text. */
#define TEXT_DISTANCE_MAX 95
unsigned text_distance(const char *a, const char *b);

#endif
