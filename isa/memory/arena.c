/* SPDX-License-Identifier: BSD-3-Clause
 * Allocates the memory of one function's analysis in pieces that are freed together. */
#include "isa/memory/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

struct arena_piece {
    struct arena_piece *next;
    size_t bytes;
    char data[] __attribute__((aligned(16)));
};

static void add_piece(struct arena *a, size_t bytes)
{
    struct arena_piece *p = a->spare;
    if (p != NULL && bytes <= p->bytes)
        a->spare = p->next;
    else
        p = malloc(sizeof *p + bytes);
    if (p == NULL) {
        (void)fprintf(stderr, "regtrace-isa: no memory left\n");
        exit(1);
    }
    p->next = a->pieces;
    p->bytes = bytes;
    a->pieces = p;
    a->at = p->data;
    a->left = bytes;
}

void *arena_take(struct arena *a, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > a->left)
        add_piece(a, bytes > PIECE ? bytes : PIECE);
    void *p = a->at;
    a->at += bytes;
    a->left -= bytes;
    return memset(p, 0, bytes);
}

/* Grows by doubling from 8 elements on: a full array holds a power of two of them, at least 8. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t size)
{
    if (count != 0 && (count < 8 || (count & (count - 1)) != 0))
        return array;
    void *more = arena_take(a, (count != 0 ? 2 * count : 8) * size);
    if (count != 0)
        memcpy(more, array, count * size);
    return more;
}

static void free_pieces(struct arena_piece *p)
{
    while (p != NULL) {
        struct arena_piece *next = p->next;
        free(p);
        p = next;
    }
}

/* Keeps pieces of the common size in `spare` for the next function. */
void arena_empty(struct arena *a)
{
    while (a->pieces != NULL) {
        struct arena_piece *p = a->pieces;
        a->pieces = p->next;
        if (p->bytes == PIECE) {
            p->next = a->spare;
            a->spare = p;
        } else {
            free(p);
        }
    }
    a->at = NULL;
    a->left = 0;
}

void arena_free(struct arena *a)
{
    free_pieces(a->pieces);
    free_pieces(a->spare);
    *a = (struct arena){.pieces = NULL};
}
