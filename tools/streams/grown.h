/* SPDX-License-Identifier: BSD-3-Clause
 * Arrays that grow as they are filled. */
#ifndef REGTRACE_TOOLS_STREAMS_GROWN_H
#define REGTRACE_TOOLS_STREAMS_GROWN_H

#include <stddef.h>
#include <stdlib.h>

/* The array (of malloc, NULL at first) with room for one more than count, wherever it is then. NULL: no memory; it is as it was. */
static inline void *emu_grown(void *array, size_t count, size_t *room, size_t size)
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
