/* SPDX-License-Identifier: BSD-3-Clause
 * Captured values as bytes: numbers in groups of seven bits, values without their leading zero
 * bytes. */
#include "base/format/value_protocol.h"

#include <string.h>

#define MOST_GROUPS 5u /* groups of a 32-bit number */

static size_t put_number(uint8_t *out, uint32_t n)
{
    size_t at = 0;
    for (; n >= 0x80; n >>= 7)
        out[at++] = (uint8_t)(n | 0x80);
    out[at++] = (uint8_t)n;
    return at;
}

static size_t get_number(const uint8_t *bytes, size_t count, uint32_t *n)
{
    uint64_t all = 0;
    for (size_t at = 0; at < count && at < MOST_GROUPS; at++) {
        all |= (uint64_t)(bytes[at] & 0x7f) << (7 * at);
        if ((bytes[at] & 0x80) == 0) {
            *n = (uint32_t)all;
            return all <= UINT32_MAX ? at + 1 : 0;
        }
    }
    return 0;
}

static unsigned bytes_of(uint64_t v)
{
    return v == 0 ? 0 : 8 - (unsigned)__builtin_clzll(v) / 8;
}

/* Layout: the number; a byte with the count of words, | 16 if the first two words are the context;
 * a byte with the lengths of each two words; the words. */
size_t values_put(const struct values_captured *c, uint8_t *out)
{
    uint64_t words[2 + VALUES_MOST];
    unsigned n = 0;
    if (c->has_context) {
        words[n++] = c->context[0];
        words[n++] = c->context[1];
    }
    for (unsigned i = 0; i < c->count; i++)
        words[n++] = c->values[i];
    size_t at = put_number(out, c->number);
    out[at++] = (uint8_t)(n | (c->has_context ? 16u : 0));
    uint8_t *lengths = out + at;
    at += (n + 1) / 2;
    for (unsigned i = 0; i < n; i++) {
        unsigned bytes = bytes_of(words[i]);
        lengths[i / 2] = (uint8_t)((i & 1) == 0 ? bytes : lengths[i / 2] | bytes << 4);
        memcpy(out + at, &words[i], bytes);
        at += bytes;
    }
    return at;
}

size_t values_get(const uint8_t *bytes, size_t count, struct values_captured *c)
{
    uint64_t words[2 + VALUES_MOST] = {0};
    size_t at = get_number(bytes, count, &c->number);
    if (at == 0 || at >= count)
        return 0;
    unsigned head = bytes[at++], n = head & 15, skip = (head & 16) != 0 ? 2 : 0;
    const uint8_t *lengths = bytes + at;
    if (head > 31 || n < skip || n - skip > VALUES_MOST || (n + 1) / 2 > count - at)
        return 0;
    at += (n + 1) / 2;
    for (unsigned i = 0; i < n; i++) {
        unsigned length = (i & 1) == 0 ? lengths[i / 2] & 15u : lengths[i / 2] >> 4;
        if (length > 8 || length > count - at)
            return 0;
        memcpy(&words[i], bytes + at, length);
        at += length;
    }
    c->has_context = skip != 0;
    c->count = (uint8_t)(n - skip);
    memcpy(c->context, words, sizeof c->context);
    memcpy(c->values, words + skip, sizeof c->values);
    if (!c->has_context)
        memset(c->context, 0, sizeof c->context);
    return at;
}
