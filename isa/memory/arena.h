/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of one function's analysis: allocated in order, freed all at once. When memory runs out,
 * the program ends with a message: it is a helper, so no data of the user is lost. */
#ifndef REGTRACE_ISA_MEMORY_ARENA_H
#define REGTRACE_ISA_MEMORY_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_piece *pieces, *spare;
    char *at;
    size_t left;
};

/* Returns `bytes` zeroed bytes. */
void *arena_take(struct arena *a, size_t bytes);
/* Makes room for one more element of `size` bytes after the first `count`. Returns the array, which
 * may have moved. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t size);
/* Frees all that was taken. Pieces of the common size stay with the arena for the next function. */
void arena_empty(struct arena *a);
void arena_free(struct arena *a);

#endif
