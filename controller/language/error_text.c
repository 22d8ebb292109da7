/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the parser's error texts: the chain, the column, and a caret under it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "controller/language/language.h"

#define CLIP_BEFORE 44
#define CLIP_LENGTH 88

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static unsigned characters_between(const char *from, const char *to)
{
    unsigned count = 0;
    for (; from < to; from++)
        count += !is_continuation(*from);
    return count;
}

/* Copies the part of the chain around `at`, at most CLIP_LENGTH characters, printable. `*caret` is
 * the column of `at` in the copy. */
static void clip_chain(const char *text, const char *at, char *out, size_t size, unsigned *caret)
{
    const char *begin = text;
    while (characters_between(begin, at) > CLIP_BEFORE &&
           characters_between(begin, text + strlen(text)) > CLIP_LENGTH)
        for (begin++; is_continuation(*begin); begin++)
            continue;
    size_t used = 0;
    unsigned shown = 0;
    if (begin != text)
        used = (size_t)snprintf(out, size, "...");
    *caret = (unsigned)used + characters_between(begin, at);
    for (const char *p = begin; *p != '\0' && used + 8 < size; p++) {
        shown += !is_continuation(*p);
        if (shown > CLIP_LENGTH) {
            used += (size_t)snprintf(out + used, size - used, "...");
            break;
        }
        out[used++] = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
    }
    out[used] = '\0';
}

int chain_fail(struct rt_error *err, const char *origin, size_t number, const char *text,
               const char *at, const char *fmt, va_list arguments)
{
    char message[1100], shown[CLIP_LENGTH * 4 + 32];
    unsigned caret;
    vsnprintf(message, sizeof message, fmt, arguments);
    clip_chain(text, at, shown, sizeof shown, &caret);
    rt_error_set(err, "chain %zu (%.160s) \"%s\", column %u: %s\n  %s\n  %*s^", number, origin,
                 shown, characters_between(text, at) + 1, message, shown, (int)caret, "");
    return -EINVAL;
}

int parse_fail(const struct parser *parser, const char *at, const char *fmt, ...)
{
    va_list arguments;
    va_start(arguments, fmt);
    chain_fail(parser->err, parser->origin, parser->builder->chain_count + 1, parser->text, at, fmt,
               arguments);
    va_end(arguments);
    return -EINVAL;
}

int parse_integer(const struct parser *parser, struct span field, const char *what, uint64_t *value)
{
    const char *bad;
    switch (number_parse(field, value, &bad)) {
    case NUMBER_OK: return 0;
    case NUMBER_EMPTY:
        return parse_fail(parser, bad,
                          "%s expects an integer (decimal, or hexadecimal with 0x), found nothing",
                          what);
    case NUMBER_OVERFLOW:
        return parse_fail(parser, field.at,
                          "%s '%.*s' does not fit 64 bits (at most 18446744073709551615)", what,
                          (int)field.length, field.at);
    case NUMBER_BAD: break;
    }
    return parse_fail(
        parser, bad,
        "%s expects an integer (decimal, or hexadecimal with 0x) and nothing else, found '%.*s'",
        what, (int)field.length, field.at);
}
