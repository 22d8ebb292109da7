/* SPDX-License-Identifier: BSD-3-Clause
 * A hash table of keys: each slot holds the number of a key, the keys lie in the order of their
 * numbers. */
#include "base/toolkit/key_table.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FIRST = 64 };

/* Returns the slot of the key's number, or the free slot for it. */
static uint32_t *slot_of(const struct key_table *t, uint64_t high, uint64_t low)
{
    uint64_t x = (low ^ (high << 40 | high >> 24)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(x ^ x >> 29) & (t->slot_count - 1);
    for (; t->slots[i] != 0; i = (i + 1) & (t->slot_count - 1)) {
        const struct key *k = &t->keys[t->slots[i] - 1];
        if (k->low == low && k->high == high)
            break;
    }
    return &t->slots[i];
}

static bool grow(struct key_table *t)
{
    size_t count = t->slot_count == 0 ? FIRST : 2 * t->slot_count;
    struct key *keys = realloc(t->keys, count / 2 * sizeof *keys);
    if (keys != NULL)
        t->keys = keys;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (keys == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (uint32_t i = 0; i < t->count; i++)
        *slot_of(t, keys[i].high, keys[i].low) = i + 1;
    return true;
}

uint32_t key_table_find(const struct key_table *t, uint64_t high, uint64_t low)
{
    return t->count != 0 ? *slot_of(t, high, low) - 1 : KEY_NONE;
}

uint32_t key_table_add(struct key_table *t, uint64_t high, uint64_t low)
{
    if ((size_t)2 * t->count >= t->slot_count && !grow(t))
        return KEY_NONE;
    uint32_t *slot = slot_of(t, high, low);
    if (*slot == 0) {
        t->keys[t->count++] = (struct key){high, low};
        *slot = t->count;
    }
    return *slot - 1;
}

void key_table_free(struct key_table *t)
{
    free(t->keys);
    free(t->slots);
    *t = (struct key_table){.keys = NULL};
}
