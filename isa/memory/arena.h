/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of one function's analysis: taken in order, given back all at once. Where there is none left the program ends with a message:
 * it is a helper, and nobody's data is lost. */
#ifndef REGTRACE_ISA_MEMORY_ARENA_H
#define REGTRACE_ISA_MEMORY_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_piece *pieces, *spare;
    char *at;
    size_t left;
};

/* Zeroed. */
void *arena_take(struct arena *a, size_t bytes);
/* Room for one more of `size` bytes behind `count`; *array may move. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t size);
/* What it had of common size is kept for the next. */
void arena_empty(struct arena *a);
void arena_free(struct arena *a);

#endif
