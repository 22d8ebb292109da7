/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the integers of the control language: 64 bits, decimal or 0x, the whole field; overflow is
 * an error. */
#include "controller/language/language.h"

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static enum number_status digits_parse(struct span text, unsigned base, uint64_t *value,
                                       const char **bad)
{
    *bad = text.at;
    if (text.length == 0)
        return NUMBER_EMPTY;
    uint64_t result = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned digit = (unsigned)digit_of(text.at[i]);
        if (digit >= base) {
            *bad = text.at + i;
            return NUMBER_BAD;
        }
        if (__builtin_mul_overflow(result, (uint64_t)base, &result) ||
            __builtin_add_overflow(result, (uint64_t)digit, &result))
            return NUMBER_OVERFLOW;
    }
    *value = result;
    return NUMBER_OK;
}

enum number_status number_parse(struct span text, uint64_t *value, const char **bad)
{
    if (text.length >= 2 && text.at[0] == '0' && (text.at[1] == 'x' || text.at[1] == 'X'))
        return digits_parse((struct span){text.at + 2, text.length - 2}, 16, value, bad);
    return digits_parse(text, 10, value, bad);
}

enum number_status number_parse_hex(struct span text, unsigned digits, uint64_t *value,
                                    const char **bad)
{
    enum number_status status = digits_parse(text, 16, value, bad);
    if (status == NUMBER_OK && text.length > digits) {
        *bad = text.at + digits;
        return NUMBER_OVERFLOW;
    }
    return status;
}
