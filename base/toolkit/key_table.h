/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers keys of two words: 0 for the first that is added, 1 for the next different one. Callers
 * keep what belongs to a key in an array of their own, in the row of that number. */
#ifndef REGTRACE_BASE_TOOLKIT_KEY_TABLE_H
#define REGTRACE_BASE_TOOLKIT_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define KEY_NONE UINT32_MAX

struct key {
    uint64_t high, low;
};

/* Initially all zero; free with key_table_free(). */
struct key_table {
    struct key *keys; /* by number */
    uint32_t count;
    uint32_t *slots; /* hash table with open addressing, at most half full: number + 1; 0: free */
    size_t slot_count;
};

/* Returns the key's number, or KEY_NONE if it has none. */
uint32_t key_table_find(const struct key_table *t, uint64_t high, uint64_t low);
/* Returns the key's number, a new one (count - 1) if it has none, or KEY_NONE if there is no
 * memory. */
uint32_t key_table_add(struct key_table *t, uint64_t high, uint64_t low);
void key_table_free(struct key_table *t);

#endif
