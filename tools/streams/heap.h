/* SPDX-License-Identifier: BSD-3-Clause
 * Sifts an element of a binary heap of numbers whose smallest element is on top. */
#ifndef REGTRACE_TOOLS_STREAMS_HEAP_H
#define REGTRACE_TOOLS_STREAMS_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Moves the element at index i down to its place; the subtrees below it must already be heaps.
 * Always inlined, since most of the time goes into the comparison. */
__attribute__((always_inline)) static inline void
heap_sift(uint32_t *heap, uint32_t count, uint32_t i,
          bool (*is_before)(const void *context, uint32_t a, uint32_t b), const void *context)
{
    uint32_t moved = heap[i];
    for (uint32_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && is_before(context, heap[child + 1], heap[child]))
            child++;
        if (!is_before(context, heap[child], moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

#endif
