/* SPDX-License-Identifier: BSD-3-Clause
 * The counts that a thread waits for, the nearest first: a heap with room for one deadline of each
 * chain, because a chain has at most one armed alarm. Allocates nothing and calls nothing. Only the
 * thread concerned changes it, with signals blocked. */
#ifndef REGTRACE_PRELOAD_COUNT_DEADLINES_H
#define REGTRACE_PRELOAD_COUNT_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A count that an icount or uniform alarm waits for. */
struct deadline {
    uint64_t at; /* absolute count of the thread */
    /* for a count that all threads share: this thread has reported its part up to here */
    uint64_t reported;
    uint32_t generation;
    uint16_t alarm, chain;
    bool global;
    bool exact;
    bool closes;
};

struct deadlines {
    uint32_t count, room; /* deadlines; chains that there is room for */
    uint32_t globals;     /* deadlines that are global */
    struct deadline *heap;
    uint16_t *place; /* by chain: index in the heap plus 1; 0: none */
};

/* Returns the bytes for this many chains. deadlines_init() gets them zeroed and aligned to 8. */
size_t deadlines_size(uint32_t chains);
void deadlines_init(struct deadlines *d, void *memory, uint32_t chains);

/* Adds a deadline, in place of an earlier one of its chain. Its chain is less than `room`. */
void deadlines_put(struct deadlines *d, const struct deadline *one);
/* Removes the deadline of this chain and copies it to *out, which may be NULL. Returns false if
 * there is none. */
bool deadlines_take(struct deadlines *d, uint16_t chain, struct deadline *out);
void deadlines_clear(struct deadlines *d);

/* Returns the first deadline, or NULL. At equal counts, deadlines that end a window come first, so
 * that the next window can begin there; the others come in the order of their alarms. */
const struct deadline *deadlines_first(const struct deadlines *d);
/* Returns the deadline of this chain, or NULL. */
const struct deadline *deadlines_of(const struct deadlines *d, uint16_t chain);
/* Must any deadline at the first count be met at the exact instruction? */
bool deadlines_first_is_exact(const struct deadlines *d);

#endif
