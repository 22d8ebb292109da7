/* SPDX-License-Identifier: BSD-3-Clause
 * The most frequent values of each instruction in bounded memory: counts by (instruction, context, value), and hot lists by concise
 * sampling.
 *
 * Concise sampling (Gibbons and Matias, "New sampling-based summary statistics for improving approximate query answers", SIGMOD
 * 1998): a list is a uniform sample of all values, each taken with probability 1 / threshold, equal ones as one entry with a count. A
 * list that is full raises its threshold, and each value stays with probability old / new. Count * threshold is an unbiased
 * estimate; at threshold 1 the list is complete and exact. */
#ifndef REGTRACE_WRITER_VALUES_VALUE_LISTS_H
#define REGTRACE_WRITER_VALUES_VALUE_LISTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define VALUE_LIST_MOST 64u              /* entries of a list */
#define VALUE_LIST_LEAST 8u              /* ... and when there are many lists */
#define VALUE_LISTS_MOST (1u << 20)      /* entries of all lists: 32 MiB */
#define VALUE_INSTRUCTIONS (1u << 18)    /* lists: with the least of entries 64 MiB */
#define VALUE_COUNTS (UINT32_C(1) << 16) /* places of the table of counts before the lists */

struct value_entry {
    uint64_t context[2], value, count;
};

struct value_list {
    struct value_entry *entries;
    uint32_t used, room;
    double threshold; /* from 1 on; 0: empty, never used */
    uint64_t values;  /* that came, exactly */
};

struct value_count {
    uint64_t context[2], value, count;
    uint32_t instruction; /* 0: free */
    uint32_t zero;
};

struct value_lists {
    struct value_list *lists; /* by instruction's number */
    uint32_t list_count;
    uint64_t entry_count; /* of all lists */
    uint32_t most;        /* entries of a list now */
    uint64_t random;
    struct value_count *counts;
    uint32_t count_count;
};

/* 0 or -ENOMEM. The same seed and values give the same lists. */
RT_MUST_CHECK int value_lists_begin(struct value_lists *l, uint64_t seed);
void value_lists_free(struct value_lists *l);

/* `times` more of this value of an instruction, whose number is from 1 to VALUE_INSTRUCTIONS. 0, -EINVAL or -ENOMEM. */
RT_MUST_CHECK int value_lists_add(struct value_lists *l, uint32_t instruction,
                                  const uint64_t context[2], uint64_t value, uint64_t times);

/* What is counted goes into the lists. 0 or -ENOMEM. */
RT_MUST_CHECK int value_lists_flush(struct value_lists *l);

/* The list of an instruction, after a flush; NULL: nothing came. */
const struct value_list *value_lists_of(const struct value_lists *l, uint32_t instruction);

/* A list as it was written once. 0, -EINVAL or -ENOMEM. */
RT_MUST_CHECK int value_lists_restore(struct value_lists *l, uint32_t instruction,
                                      const struct value_list *list);

#endif
