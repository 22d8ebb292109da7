/* SPDX-License-Identifier: BSD-3-Clause
 * Computes the edit distance of two texts, by dynamic programming with one row. */
#include "base/names/distance.h"

#include <stddef.h>
#include <string.h>

unsigned text_distance(const char *a, const char *b)
{
    unsigned row[TEXT_DISTANCE_MAX + 1];
    size_t n = strnlen(b, TEXT_DISTANCE_MAX);
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= TEXT_DISTANCE_MAX && a[i - 1] != '\0'; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}
