/* SPDX-License-Identifier: BSD-3-Clause
 * Binary search in whatever is sorted. A macro, because the comparison stands in a hot loop, also
 * in signal handlers of the traced process. */
#ifndef REGTRACE_BASE_SEARCH_H
#define REGTRACE_BASE_SEARCH_H

#include <stddef.h>

/* Sets `place`, a variable of type size_t, to the first index below `count` for which the
 * expression `is_before` is false, or to `count` if there is none. `is_before` uses `place`; it
 * must be true for the first indexes, and false for all others. `count` is evaluated once. */
#define SEARCH_FIRST(place, count, is_before)                                                      \
    do {                                                                                           \
        size_t search_low = 0, search_high = (count);                                              \
        while (search_low < search_high) {                                                         \
            (place) = search_low + (search_high - search_low) / 2;                                 \
            if (is_before)                                                                         \
                search_low = (place) + 1;                                                          \
            else                                                                                   \
                search_high = (place);                                                             \
        }                                                                                          \
        (place) = search_low;                                                                      \
    } while (0)

#endif
