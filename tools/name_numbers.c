/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers texts by means of a hash table. */
#include "tools/name_numbers.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *text)
{
    uint64_t h = hash_bytes(HASH_BEGIN, text, strlen(text));
    return h ^ h >> 32;
}

/* Returns the slot of a text's number, or the free slot for it. */
static uint32_t *slot_of(const struct names *n, const char *text)
{
    size_t mask = n->table_size - 1, at = hash(text) & mask;
    while (n->table[at] != 0 && strcmp(n->texts[n->table[at] - 1], text) != 0)
        at = (at + 1) & mask;
    return &n->table[at];
}

static int grow(struct names *n)
{
    size_t size = n->table_size != 0 ? 2 * n->table_size : 64;
    uint32_t *table = calloc(size, sizeof *table);
    char **texts = realloc((void *)n->texts, size / 2 * sizeof *texts);
    if (texts != NULL) {
        n->texts = texts;
        n->room = size / 2;
    }
    if (table == NULL || texts == NULL) {
        free(table);
        return -1;
    }
    free(n->table);
    n->table = table;
    n->table_size = size;
    for (uint32_t i = 0; i < n->count; i++)
        *slot_of(n, n->texts[i]) = i + 1;
    return 0;
}

uint32_t names_number(struct names *n, const char *text)
{
    if (2 * (size_t)n->count >= n->table_size && grow(n) != 0)
        return 0;
    uint32_t *slot = slot_of(n, text);
    if (*slot != 0)
        return *slot;
    char *copy = strdup(text);
    if (copy == NULL)
        return 0;
    n->texts[n->count++] = copy;
    return *slot = n->count;
}

const char *names_text(const struct names *n, int64_t number)
{
    return number >= 1 && number <= (int64_t)n->count ? n->texts[number - 1] : NULL;
}

void names_free(struct names *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        free(n->texts[i]);
    free((void *)n->texts);
    free(n->table);
    *n = (struct names){.texts = NULL};
}
