/* SPDX-License-Identifier: BSD-3-Clause
 * Makes room for one more row in an array that its caller fills. */
#ifndef REGTRACE_BASE_TOOLKIT_ARRAY_H
#define REGTRACE_BASE_TOOLKIT_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* Returns an array with room for at least count + 1 rows of `size` bytes, and updates *room. The
 * array comes from malloc() or is NULL, with *room 0, at first; the result may be at another
 * address. Returns NULL if there is no memory; the array and *room stay as they are. */
static inline void *array_grown(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    size_t more = 2 * *room + 16;
    void *p = realloc(array, more * size);
    if (p != NULL)
        *room = more;
    return p;
}

#endif
