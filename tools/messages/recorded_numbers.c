/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the next number of each key in a hash table that grows. */
#include "tools/messages/recorded_numbers.h"

#include "base/format/event.h"

#include <errno.h>
#include <stdlib.h>

struct place {
    struct number_key key;
    bool used;
    uint32_t period; /* of its reader; an older one: forgotten */
    uint64_t next;
};

struct numbers {
    struct place *places;
    size_t room, used; /* room: a power of two */
    uint32_t *periods; /* by reader */
};

static size_t first_place(const struct numbers *n, const struct number_key *k)
{
    uint64_t h = (uint64_t)k->reader << 32 | (uint32_t)k->tag;
    h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= (uint64_t)(uint32_t)k->peer << 32 | k->comm << 2 | (uint32_t)k->kind;
    h = (h ^ h >> 29) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(h >> 32) & (n->room - 1);
}

static bool same(const struct number_key *a, const struct number_key *b)
{
    return a->reader == b->reader && a->comm == b->comm && a->peer == b->peer && a->tag == b->tag &&
           a->kind == b->kind;
}

/* Returns the key's place, or the free one where it belongs. */
static struct place *find(const struct numbers *n, const struct number_key *k)
{
    size_t i = first_place(n, k);
    while (n->places[i].used && !same(&n->places[i].key, k))
        i = (i + 1) & (n->room - 1);
    return &n->places[i];
}

struct numbers *numbers_open(uint32_t readers)
{
    struct numbers *n = calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    n->room = 1024;
    n->places = calloc(n->room, sizeof *n->places);
    n->periods = calloc((size_t)readers + 1, sizeof *n->periods);
    if (n->places == NULL || n->periods == NULL) {
        numbers_close(n);
        return NULL;
    }
    return n;
}

void numbers_close(struct numbers *n)
{
    if (n == NULL)
        return;
    free(n->places);
    free(n->periods);
    free(n);
}

/* Moves the keys that are not forgotten to a table with more room. */
static int grow(struct numbers *n)
{
    struct numbers wider = {.room = 2 * n->room, .periods = n->periods};
    wider.places = calloc(wider.room, sizeof *wider.places);
    if (wider.places == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < n->room; i++)
        if (n->places[i].used && n->places[i].period == n->periods[n->places[i].key.reader]) {
            *find(&wider, &n->places[i].key) = n->places[i];
            wider.used++;
        }
    free(n->places);
    *n = wider;
    return 0;
}

static struct place *get(struct numbers *n, const struct number_key *key)
{
    struct place *p = find(n, key);
    if (!p->used && 2 * n->used >= n->room) {
        if (grow(n) != 0)
            return NULL;
        p = find(n, key);
    }
    if (!p->used || p->period != n->periods[key->reader]) {
        n->used += !p->used;
        *p = (struct place){.key = *key, .used = true, .period = n->periods[key->reader]};
    }
    return p;
}

int numbers_set(struct numbers *n, const struct number_key *key, uint64_t next)
{
    struct place *p = get(n, key);
    if (p == NULL)
        return -ENOMEM;
    p->next = next;
    return 0;
}

static uint64_t step(struct place *p)
{
    return p->next != EVENT_NO_NUMBER ? p->next++ : EVENT_NO_NUMBER;
}

bool numbers_take(struct numbers *n, const struct number_key *key, uint64_t *number)
{
    struct place *p = find(n, key);
    if (!p->used || p->period != n->periods[key->reader])
        return false;
    *number = step(p);
    return *number != EVENT_NO_NUMBER;
}

int numbers_count(struct numbers *n, const struct number_key *key, uint64_t *number)
{
    struct place *p = get(n, key);
    if (p == NULL)
        return -ENOMEM;
    *number = step(p);
    return 0;
}

void numbers_forget(struct numbers *n, uint32_t reader)
{
    n->periods[reader]++;
}
