/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts records by a 64-bit key, and searches them. A radix sort (Knuth, The Art of Computer
 * Programming, 5.2.5), because an image of 100 MB has millions of records. */
#include "isa/image/image.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT = 11, DIGITS = 1 << DIGIT, FEW = 64 };

struct sort {
    size_t count, size, key;
    uint64_t least;
};

static inline uint64_t word_at(const void *record, size_t key)
{
    uint64_t word;
    memcpy(&word, (const char *)record + key, sizeof word);
    return word;
}

static int by_word(const void *a, const void *b, void *key)
{
    uint64_t x = word_at(a, *(const size_t *)key), y = word_at(b, *(const size_t *)key);
    return x < y ? -1 : x > y;
}

/* Sorts by one digit; stable. Inline, so that the compiler knows a constant size. */
static inline void sort_digit(const struct sort *s, const char *from, char *to, unsigned shift,
                              size_t size)
{
    size_t next[DIGITS] = {0}, before = 0;
    for (size_t i = 0; i < s->count; i++)
        next[(word_at(from + i * size, s->key) - s->least) >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t here = next[d];
        next[d] = before;
        before += here;
    }
    for (size_t i = 0; i < s->count; i++) {
        const char *record = from + i * size;
        size_t at = next[(word_at(record, s->key) - s->least) >> shift & (DIGITS - 1)]++;
        memcpy(to + at * size, record, size);
    }
}

static void sort_digits(const struct sort *s, char *base, char *other, uint64_t span)
{
    char *from = base, *to = other;
    for (unsigned shift = 0; shift < 64 && span >> shift != 0; shift += DIGIT) {
        if (s->size == 8)
            sort_digit(s, from, to, shift, 8);
        else if (s->size == 16)
            sort_digit(s, from, to, shift, 16);
        else
            sort_digit(s, from, to, shift, s->size);
        char *was = from;
        from = to;
        to = was;
    }
    if (from != base)
        memcpy(base, from, s->count * s->size);
}

void image_sort(void *base, size_t count, size_t size, size_t key)
{
    struct sort s = {.count = count, .size = size, .key = key, .least = UINT64_MAX};
    uint64_t last = 0, most = 0;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = word_at((char *)base + i * size, key);
        sorted = sorted && word >= last;
        last = word;
        s.least = word < s.least ? word : s.least;
        most = word > most ? word : most;
    }
    if (sorted)
        return;
    char *other = count > FEW ? malloc(count * size) : NULL;
    if (other != NULL)
        sort_digits(&s, base, other, most - s.least);
    else
        qsort_r(base, count, size, by_word, &key);
    free(other);
}

size_t image_search(const void *base, size_t count, size_t size, size_t key, uint64_t number)
{
    size_t n;
    SEARCH_FIRST(n, count, word_at((const char *)base + n * size, key) < number);
    return n;
}
