/* SPDX-License-Identifier: BSD-3-Clause
 * The counts that a thread waits for, the nearest at hand: a heap, with room for one of each chain, since a chain has one alarm
 * armed at most. Allocates nothing and calls nothing; to be changed on the thread concerned, with signals blocked. */
#ifndef REGTRACE_PRELOAD_WINDOW_DEADLINES_H
#define REGTRACE_PRELOAD_WINDOW_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A count that an icount or uniform alarm waits for. */
struct deadline {
    uint64_t at; /* absolute count of the thread */
    uint64_t
        reported; /* of a count that all threads share: how far this thread has told its part */
    uint32_t generation;
    uint16_t alarm, chain;
    bool global;
    bool exact;
    bool closes;
};

struct deadlines {
    uint32_t count, room; /* chains that there is room for */
    uint32_t globals;     /* of count */
    struct deadline *heap;
    uint16_t *place; /* by chain: where in the heap, plus 1; 0: nowhere */
};

/* Bytes for so many chains, to be given zeroed and aligned to 8. */
size_t deadlines_size(uint32_t chains);
void deadlines_init(struct deadlines *d, void *memory, uint32_t chains);

/* In place of the one of the same chain, if there is one. Its chain is less than the room. */
void deadlines_put(struct deadlines *d, const struct deadline *one);
/* The one of this chain goes away; false: there is none. *out may be NULL. */
bool deadlines_take(struct deadlines *d, uint16_t chain, struct deadline *out);
void deadlines_clear(struct deadlines *d);

/* At one count what ends a window comes first, so that the next can begin there; else the chains come in their order. NULL: none. */
const struct deadline *deadlines_first(const struct deadlines *d);
const struct deadline *deadlines_of(const struct deadlines *d, uint16_t chain);
/* Is any of those at the first one's count to be met at the very instruction? */
bool deadlines_first_is_exact(const struct deadlines *d);

#endif
