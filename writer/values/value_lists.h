/* SPDX-License-Identifier: BSD-3-Clause
 * The most frequent values of each instruction in bounded memory: counts by (instruction, context,
 * value), and hot lists by concise sampling.
 *
 * Concise sampling (Gibbons and Matias, "New sampling-based summary statistics for improving
 * approximate query answers", SIGMOD 1998): a list is a uniform sample of all values. Each value is
 * taken with probability 1 / threshold; equal values are one entry with a count. A list that is
 * full raises its threshold, and each value stays with probability old / new. Count * threshold is
 * an unbiased estimate. At threshold 1 the list is complete and exact. */
#ifndef REGTRACE_WRITER_VALUES_VALUE_LISTS_H
#define REGTRACE_WRITER_VALUES_VALUE_LISTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define VALUE_LIST_MOST 64u              /* most entries of a list */
#define VALUE_LIST_LEAST 8u              /* the same if there are many lists */
#define VALUE_LISTS_MOST (1u << 20)      /* most entries of all lists: 32 MiB */
#define VALUE_INSTRUCTIONS (1u << 18)    /* most lists; 64 MiB with VALUE_LIST_LEAST entries each */
#define VALUE_COUNTS (UINT32_C(1) << 16) /* slots of the table that counts before the lists */

struct value_entry {
    uint64_t context[2], value, count;
};

struct value_list {
    struct value_entry *entries;
    uint32_t used, room;
    double threshold; /* 1 or more; 0: never used */
    uint64_t values;  /* number of values that came, exact */
};

struct value_count {
    uint64_t context[2], value, count;
    uint32_t instruction; /* 0: free */
    uint32_t zero;
};

struct value_lists {
    struct value_list *lists; /* indexed by the number of the instruction */
    uint32_t list_count;
    uint64_t entry_count; /* of all lists */
    uint32_t most;        /* present limit of the entries of a list */
    uint64_t random;
    struct value_count *counts;
    uint32_t count_count;
};

/* Returns 0 or -ENOMEM. The same seed and values give the same lists. */
RT_MUST_CHECK int value_lists_begin(struct value_lists *l, uint64_t seed);
void value_lists_free(struct value_lists *l);

/* Counts a value of an instruction, whose number is 1 to VALUE_INSTRUCTIONS, `times` times. Returns
 * 0, -EINVAL or -ENOMEM. */
RT_MUST_CHECK int value_lists_add(struct value_lists *l, uint32_t instruction,
                                  const uint64_t context[2], uint64_t value, uint64_t times);

/* Moves the counts into the lists. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int value_lists_flush(struct value_lists *l);

/* Returns the list of an instruction, or NULL if no value came. Call value_lists_flush() before. */
const struct value_list *value_lists_of(const struct value_lists *l, uint32_t instruction);

/* Restores a list from a copy. Returns 0, -EINVAL or -ENOMEM. */
RT_MUST_CHECK int value_lists_restore(struct value_lists *l, uint32_t instruction,
                                      const struct value_list *list);

#endif
