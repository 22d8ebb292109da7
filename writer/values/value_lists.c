/* SPDX-License-Identifier: BSD-3-Clause
 * Counts values, and takes concise samples of them. */
#include "writer/values/value_lists.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RAISE 1.1             /* factor of a threshold, as in Gibbons and Matias */
#define NORMAL_VARIANCE 4096. /* from here on a normal number replaces a binomial one */

/* Returns a uniform number in (0, 1), by xorshift64* (Vigna 2016). */
static double uniform(struct value_lists *l)
{
    uint64_t x = l->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    l->random = x;
    return ((double)((x * UINT64_C(0x2545f4914f6cdd1d)) >> 11) + 0.5) / 9007199254740992.0;
}

static uint64_t normal_binomial(struct value_lists *l, double n, double p)
{
    double z = sqrt(-2 * log(uniform(l))) * cos(6.283185307179586 * uniform(l));
    double k = floor(n * p + z * sqrt(n * p * (1 - p)) + 0.5);
    return k < 0 ? 0 : k > n ? (uint64_t)n : (uint64_t)k;
}

/* Returns how many of n stay, each with probability p. Draws the gaps between those that stay. */
static uint64_t binomial(struct value_lists *l, uint64_t n, double p)
{
    if (p >= 1 || n == 0)
        return n;
    bool flipped = p > 0.5;
    p = flipped ? 1 - p : p;
    uint64_t k = 0;
    if ((double)n * p * (1 - p) > NORMAL_VARIANCE) {
        k = normal_binomial(l, (double)n, p);
    } else {
        double per_gap = log1p(-p), at = 0;
        while ((at += floor(log(uniform(l)) / per_gap) + 1) <= (double)n)
            k++;
    }
    return flipped ? n - k : k;
}

static void raise_threshold(struct value_lists *l, struct value_list *list)
{
    double next = list->threshold * RAISE;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->used; i++) {
        struct value_entry e = list->entries[i];
        e.count = binomial(l, e.count, list->threshold / next);
        if (e.count > 0)
            list->entries[kept++] = e;
    }
    l->entry_count -= list->used - kept;
    list->used = kept;
    list->threshold = next;
}

/* There are many instructions: halves the limit of all lists. The caller stops at
 * VALUE_LIST_LEAST. */
static void shorten_all(struct value_lists *l)
{
    l->most /= 2;
    for (uint32_t i = 0; i < l->list_count; i++) {
        struct value_list *list = &l->lists[i];
        while (list->used > l->most)
            raise_threshold(l, list);
        struct value_entry *less = list->room > l->most && list->used > 0
                                       ? realloc(list->entries, l->most * sizeof *less)
                                       : NULL;
        if (less != NULL) {
            list->entries = less;
            list->room = l->most;
        }
    }
}

/* The finalizer of splitmix64 (Steele and others 2014): similar seeds give dissimilar numbers.
 * Never 0. */
static uint64_t mixed(uint64_t seed)
{
    uint64_t x = seed + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x != 0 ? x : 1;
}

int value_lists_begin(struct value_lists *l, uint64_t seed)
{
    *l = (struct value_lists){.most = VALUE_LIST_MOST};
    l->random = mixed(seed);
    l->counts = calloc(VALUE_COUNTS, sizeof *l->counts);
    return l->counts != NULL ? 0 : -ENOMEM;
}

void value_lists_free(struct value_lists *l)
{
    for (uint32_t i = 0; i < l->list_count; i++)
        free(l->lists[i].entries);
    free(l->lists);
    free(l->counts);
    *l = (struct value_lists){0};
}

static struct value_list *list_for(struct value_lists *l, uint32_t instruction)
{
    if (instruction >= l->list_count) {
        uint32_t count = instruction + instruction / 2 + 64;
        struct value_list *grown = realloc(l->lists, count * sizeof *grown);
        if (grown == NULL)
            return NULL;
        memset(grown + l->list_count, 0, (count - l->list_count) * sizeof *grown);
        l->lists = grown;
        l->list_count = count;
    }
    return &l->lists[instruction];
}

static int grow_list(struct value_list *list, uint32_t most)
{
    uint32_t room = list->room == 0 ? 4 : 2 * list->room;
    room = room < most + 1 ? room : most + 1; /* one more entry than may stay */
    struct value_entry *grown = realloc(list->entries, room * sizeof *grown);
    if (grown == NULL)
        return -ENOMEM;
    list->entries = grown;
    list->room = room;
    return 0;
}

static int list_add(struct value_lists *l, struct value_list *list, const struct value_count *c)
{
    if (list->threshold < 1)
        list->threshold = 1;
    list->values += c->count;
    uint64_t n = binomial(l, c->count, 1 / list->threshold);
    if (n == 0)
        return 0;
    for (uint32_t i = 0; i < list->used; i++) {
        struct value_entry *e = &list->entries[i];
        if (e->value == c->value && e->context[0] == c->context[0] &&
            e->context[1] == c->context[1]) {
            e->count += n;
            return 0;
        }
    }
    if (list->used >= list->room) {
        int rc = grow_list(list, l->most > list->used ? l->most : list->used);
        if (rc != 0)
            return rc;
    }
    list->entries[list->used++] = (struct value_entry){{c->context[0], c->context[1]}, c->value, n};
    l->entry_count++;
    while (list->used > l->most)
        raise_threshold(l, list);
    if (l->entry_count > VALUE_LISTS_MOST && l->most > VALUE_LIST_LEAST)
        shorten_all(l);
    return 0;
}

int value_lists_flush(struct value_lists *l)
{
    for (uint32_t i = 0; i < VALUE_COUNTS && l->count_count > 0; i++) {
        struct value_count *c = &l->counts[i];
        if (c->instruction == 0)
            continue;
        struct value_list *list = list_for(l, c->instruction);
        int rc = list != NULL ? list_add(l, list, c) : -ENOMEM;
        if (rc != 0)
            return rc;
        c->instruction = 0;
        l->count_count--;
    }
    return 0;
}

static uint32_t place_of(uint32_t instruction, const uint64_t context[2], uint64_t value)
{
    uint64_t x = instruction * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ context[0] ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ context[1] ^ x >> 32) * UINT64_C(0x94d049bb133111eb);
    x = (x ^ value ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(x >> 32) & (VALUE_COUNTS - 1);
}

int value_lists_add(struct value_lists *l, uint32_t instruction, const uint64_t context[2],
                    uint64_t value, uint64_t times)
{
    if (instruction == 0 || instruction > VALUE_INSTRUCTIONS)
        return -EINVAL;
    if (l->count_count >= VALUE_COUNTS / 4 * 3) {
        int rc = value_lists_flush(l);
        if (rc != 0)
            return rc;
    }
    uint32_t i = place_of(instruction, context, value);
    for (; l->counts[i].instruction != 0; i = (i + 1) & (VALUE_COUNTS - 1)) {
        struct value_count *c = &l->counts[i];
        if (c->value == value && c->instruction == instruction && c->context[0] == context[0] &&
            c->context[1] == context[1]) {
            c->count += times;
            return 0;
        }
    }
    l->counts[i] = (struct value_count){{context[0], context[1]}, value, times, instruction, 0};
    l->count_count++;
    return 0;
}

const struct value_list *value_lists_of(const struct value_lists *l, uint32_t instruction)
{
    return instruction < l->list_count && l->lists[instruction].threshold >= 1
               ? &l->lists[instruction]
               : NULL;
}

int value_lists_restore(struct value_lists *l, uint32_t instruction, const struct value_list *list)
{
    if (instruction == 0 || instruction > VALUE_INSTRUCTIONS || !(list->threshold >= 1) ||
        list->used > VALUE_LIST_MOST)
        return -EINVAL;
    struct value_list *to = list_for(l, instruction);
    struct value_entry *entries = calloc(list->used + 1, sizeof *entries);
    if (to == NULL || entries == NULL || to->used > 0) {
        free(entries);
        return to != NULL && to->used > 0 ? -EINVAL : -ENOMEM;
    }
    memcpy(entries, list->entries, list->used * sizeof *entries);
    free(to->entries);
    *to = *list;
    to->entries = entries;
    to->room = list->used;
    l->entry_count += list->used;
    return 0;
}
