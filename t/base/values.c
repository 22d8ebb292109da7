/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the encoding of captured values: every shape is read back unchanged, and truncated or
 * damaged bytes are never read past their end. */
#include "base/format/value_protocol.h"

#include "t/tap.h"

#include <string.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static struct values_captured one(void)
{
    struct values_captured c = {.number = (uint32_t)(draw() >> (draw() & 31) >> 32),
                                .has_context = (draw() & 1) != 0,
                                .count = (uint8_t)(draw() % (VALUES_MOST + 1))};
    for (unsigned i = 0; i < 2 && c.has_context; i++)
        c.context[i] = draw() >> (draw() & 63);
    for (unsigned i = 0; i < c.count; i++)
        c.values[i] = (draw() & 3) == 0 ? 0 : draw() >> (draw() & 63);
    return c;
}

static bool same(const struct values_captured *x, const struct values_captured *y)
{
    return x->number == y->number && x->has_context == y->has_context && x->count == y->count &&
           memcmp(x->context, y->context, sizeof x->context) == 0 &&
           memcmp(x->values, y->values, sizeof x->values[0] * x->count) == 0;
}

int main(void)
{
    uint8_t bytes[VALUES_PUT_MOST];
    unsigned wrong = 0, cut = 0, largest = 0;
    for (unsigned i = 0; i < 100000; i++) {
        struct values_captured c = one(), got;
        size_t n = values_put(&c, bytes);
        wrong += values_get(bytes, n, &got) != n || !same(&c, &got);
        largest = n > largest ? (unsigned)n : largest;
        for (size_t k = 0; k < n; k++)
            cut += values_get(bytes, k, &got) != 0;
    }
    ok(wrong == 0, "100,000 records come back as they were");
    ok(cut == 0, "none is read whose end is missing");
    ok(largest <= VALUES_PUT_MOST, "none is longer than said");
    struct values_captured c = {.number = 100}, got;
    ok(values_put(&c, bytes) == 2, "one without values has two bytes");
    c = (struct values_captured){.number = UINT32_MAX, .has_context = true, .count = VALUES_MOST};
    memset(c.context, 0xff, sizeof c.context);
    memset(c.values, 0xff, sizeof c.values);
    ok(values_put(&c, bytes) == 5 + 1 + 5 + 72, "the longest is as long as it is to be");
    unsigned over = 0;
    for (unsigned i = 0; i < 100000; i++) {
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)draw();
        size_t n = values_get(bytes, sizeof bytes, &got);
        over += n > sizeof bytes || (n != 0 && got.count > VALUES_MOST);
    }
    ok(over == 0, "random bytes are refused or read within their bounds");
    return done_testing();
}
