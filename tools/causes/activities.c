/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps activities as keys: their kind, and their two words. */
#include "tools/causes/activities.h"

#include <errno.h>

int activities_begin(struct activities *a)
{
    for (uint32_t i = 0; i < EDGES; i++)
        if (activities_add(a, ACTIVITY_EDGE, i, 0) != i)
            return -ENOMEM;
    return 0;
}

uint32_t activities_add(struct activities *a, enum activity_kind kind, uint32_t first,
                        uint32_t second)
{
    return key_table_add(&a->keys, kind, (uint64_t)first << 32 | second);
}

struct activity activities_at(const struct activities *a, uint32_t number)
{
    const struct key *k = &a->keys.keys[number];
    return (struct activity){(enum activity_kind)k->high, (uint32_t)(k->low >> 32),
                             (uint32_t)k->low};
}

uint32_t activities_count(const struct activities *a)
{
    return a->keys.count;
}

void activities_free(struct activities *a)
{
    key_table_free(&a->keys);
}
