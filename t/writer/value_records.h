/* SPDX-License-Identifier: BSD-3-Clause
 * Writes records of captured values as the traced process does, for the tests of their readers. */
#ifndef REGTRACE_T_WRITER_VALUE_RECORDS_H
#define REGTRACE_T_WRITER_VALUE_RECORDS_H

#include "base/format/recorder.h"
#include "base/format/value_protocol.h"

#include <string.h>

static inline void put_code(uint32_t number, uint64_t address, const char *code, uint8_t length)
{
    uint64_t more[3] = {0};
    memcpy(more, code, length);
    ((uint8_t *)more)[15] = length;
    (void)recorder_emit_long(&recorder_self, EV_VALUES_CODE, number, address, more, 1);
}

/* Emits one sample of these captured instructions. */
static inline void put_sample(const struct values_captured *c, unsigned count, uint64_t periods)
{
    uint8_t bytes[VALUES_FOLLOW_MOST * VALUES_PUT_MOST];
    size_t all = 0, at = 0;
    for (unsigned i = 0; i < count; i++)
        all += values_put(&c[i], bytes + all);
    do {
        uint64_t words[22] = {0};
        size_t n = all - at < VALUES_RECORD_BYTES ? all - at : VALUES_RECORD_BYTES;
        memcpy(words, bytes + at, n);
        uint64_t a = n | (at == 0 ? VALUES_FIRST : 0) | (at + n == all ? VALUES_LAST : 0);
        (void)recorder_emit_long(&recorder_self, EV_VALUES, a | periods << 32, words[0], words + 1,
                                 n > 8 ? (unsigned)(n - 8 + 23) / 24 : 0);
        at += n;
    } while (at < all);
}

static inline void put_value(uint32_t number, uint64_t value)
{
    struct values_captured c = {.number = number, .count = 1, .values = {value}};
    put_sample(&c, 1, 1);
}

#endif
