/* SPDX-License-Identifier: BSD-3-Clause
 * Parses an alarm's value by its type: what is legal, what it means, and errors at the wrong
 * character. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include <errno.h>
#include <string.h>

#include "controller/language/language.h"

static int value_missing(struct parser *parser, const struct piece *piece, const char *expected)
{
    bool empty = piece->count > 2;
    const struct span type = piece->fields[1];
    return parse_fail(parser, empty ? piece->fields[2].at : type.at + type.length,
                      "%.*s expects %s, found nothing", (int)type.length, type.at, expected);
}

/* Strips quotes, which must enclose the whole value. */
static int unquote(struct parser *parser, struct span field, struct span *value, bool *quoted)
{
    *value = field;
    *quoted = false;
    const char *quote = memchr(field.at, '"', field.length);
    if (quote == NULL)
        return 0;
    const char *close = field.at + field.length - 1;
    if (quote != field.at)
        return parse_fail(parser, quote, "a quote must stand around the whole value");
    const char *second = memchr(quote + 1, '"', field.length - 1);
    if (second != close)
        return parse_fail(parser, second + 1, "text after the closing quote");
    *value = (struct span){field.at + 1, field.length - 2};
    *quoted = true;
    return value->length == 0 ? parse_fail(parser, field.at, "the quotes are empty") : 0;
}

static int value_text(struct parser *parser, const struct piece *piece, const char *expected,
                      struct ctl_alarm *alarm, struct span *value)
{
    if (piece->count < 3 || piece->fields[2].length == 0)
        return value_missing(parser, piece, expected);
    int status = unquote(parser, piece->fields[2], value, &alarm->quoted);
    if (status != 0)
        return status;
    alarm->value = pool_copy(&parser->builder->pool, value->at, value->length);
    return alarm->value == NULL ? -ENOMEM : 0;
}

static int value_icount(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    alarm->value_kind = CTL_VALUE_NUMBER;
    return parse_integer(parser, value, "icount", &alarm->number);
}

static bool starts_0x(struct span value)
{
    return value.length >= 2 && value.at[0] == '0' && (value.at[1] == 'x' || value.at[1] == 'X');
}

static int value_address(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    if (!alarm->quoted && starts_0x(value)) {
        alarm->value_kind = CTL_VALUE_ABSOLUTE;
        return parse_integer(parser, value, "address", &alarm->number);
    }
    if (!alarm->quoted && value.at[0] >= '0' && value.at[0] <= '9')
        return parse_fail(parser, value.at, "an absolute address is written 0x..., found '%.*s'",
                          (int)value.length, value.at);
    alarm->value_kind = CTL_VALUE_NAME;
    const char *plus = memrchr(value.at, '+', value.length);
    if (plus == NULL)
        return 0;
    struct span offset = {plus + 1, (size_t)(value.at + value.length - plus - 1)};
    const char *bad;
    /* In quotes, a name may itself contain a plus ("operator+"). */
    if (alarm->quoted && number_parse(offset, &alarm->number, &bad) != NUMBER_OK)
        return 0;
    if (plus == value.at)
        return parse_fail(parser, value.at,
                          "expected the name of an image or symbol before '+', found nothing");
    int status = parse_integer(parser, offset, "the offset after '+'", &alarm->number);
    if (status != 0)
        return status;
    alarm->value_kind = CTL_VALUE_NAME_OFFSET;
    alarm->value = pool_copy(&parser->builder->pool, value.at, (size_t)(plus - value.at));
    return alarm->value == NULL ? -ENOMEM : 0;
}

static int value_ssc(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    const char *bad;
    if (starts_0x(value))
        return parse_fail(parser, value.at,
                          "ssc expects hexadecimal digits without 0x: write '%.*s'",
                          (int)value.length - 2, value.at + 2);
    alarm->value_kind = CTL_VALUE_NUMBER;
    switch (number_parse_hex(value, 8, &alarm->number, &bad)) {
    case NUMBER_OK: return 0;
    case NUMBER_OVERFLOW:
        return parse_fail(parser, value.at,
                          "ssc '%.*s' does not fit 32 bits (8 hexadecimal digits)",
                          (int)value.length, value.at);
    default:
        return parse_fail(parser, bad, "ssc expects hexadecimal digits without 0x, found '%.*s'",
                          (int)value.length, value.at);
    }
}

static int value_itext(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    if (starts_0x(value))
        return parse_fail(parser, value.at,
                          "itext expects the bytes in memory order without 0x: write '%.*s'",
                          (int)value.length - 2, value.at + 2);
    for (size_t i = 0; i < value.length; i++) {
        uint64_t digit;
        const char *bad;
        if (number_parse_hex((struct span){value.at + i, 1}, 1, &digit, &bad) != NUMBER_OK)
            return parse_fail(parser, value.at + i,
                              "itext expects hexadecimal digits, found '%.*s'", (int)value.length,
                              value.at);
        if (i < sizeof alarm->bytes * 2)
            alarm->bytes[i / 2] = (uint8_t)((unsigned)alarm->bytes[i / 2] << 4 | (unsigned)digit);
    }
    if (value.length % 2 != 0)
        return parse_fail(parser, value.at,
                          "itext has an odd number of hexadecimal digits (%zu); a byte has two",
                          value.length);
    if (value.length > sizeof alarm->bytes * 2)
        return parse_fail(parser, value.at, "itext has %zu bytes; an instruction has at most 15",
                          value.length / 2);
    alarm->value_kind = CTL_VALUE_BYTES;
    alarm->byte_count = (uint8_t)(value.length / 2);
    return 0;
}

static int value_isa(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    enum ctl_type type = (enum ctl_type)alarm->type;
    const char *const *table = type == CTL_ISA_EXTENSION ? isa_extension_names : isa_category_names;
    struct span known = isa_alias(value, type);
    int index = name_find(known, table);
    if (index < 0) {
        const char *what = type == CTL_ISA_EXTENSION ? "ISA extension" : "ISA category";
        const char *some = type == CTL_ISA_EXTENSION ? "BASE, SSE2, AVX, AVX512EVEX, ..."
                                                     : "CALL, COND_BR, DATAXFER, ...";
        const char *nearest = name_nearest(value, table);
        return parse_fail(parser, value.at,
                          "unknown %s '%.*s'%s%s%s legal here: XED's names in upper case, as %s",
                          what, (int)value.length, value.at,
                          nearest != NULL ? ", did you mean '" : ";",
                          nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "", some);
    }
    alarm->value_kind = CTL_VALUE_NAME;
    alarm->value = table[index];
    return 0;
}

static int value_magic(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    const char *dot = memchr(value.at, '.', value.length);
    if (dot == NULL)
        return parse_fail(parser, value.at + value.length,
                          "magic expects two integers A.B, found '%.*s'", (int)value.length,
                          value.at);
    struct span first = {value.at, (size_t)(dot - value.at)};
    struct span second = {dot + 1, value.length - first.length - 1};
    alarm->value_kind = CTL_VALUE_PAIR;
    int status = parse_integer(parser, first, "the first number of magic", &alarm->number);
    return status != 0
               ? status
               : parse_integer(parser, second, "the second number of magic", &alarm->second);
}

static int value_cpuid(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    alarm->value_kind = CTL_VALUE_NUMBER;
    int status = parse_integer(parser, value, "cpuid", &alarm->number);
    if (status == 0 && alarm->number >= 0x10000)
        return parse_fail(parser, value.at, "cpuid expects an integer below 0x10000, found '%.*s'",
                          (int)value.length, value.at);
    return status;
}

static int value_pcontrol(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    alarm->value_kind = CTL_VALUE_STRING;
    if (alarm->quoted || value.length < 6 || memcmp(value.at, "level=", 6) != 0)
        return 0;
    struct span number = {value.at + 6, value.length - 6};
    bool negative = number.length > 0 && number.at[0] == '-';
    if (negative) {
        number.at++;
        number.length--;
    }
    alarm->value_kind = CTL_VALUE_LEVEL;
    int status = parse_integer(parser, number, "level=", &alarm->number);
    if (status == 0 && alarm->number > (negative ? (uint64_t)INT32_MAX + 1 : (uint64_t)INT32_MAX))
        return parse_fail(parser, number.at,
                          "the level of MPI_Pcontrol is an int; '%.*s' does not fit",
                          (int)number.length, number.at);
    if (negative)
        alarm->number = 0 - alarm->number;
    return status;
}

static int value_timeout(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    static const struct {
        const char *suffix;
        uint64_t nanoseconds;
    } units[] = {{"ms", 1000000}, {"us", 1000}, {"s", 1000000000}, {"", 1000000000}};
    struct span number = value;
    uint64_t unit = 0;
    for (size_t i = 0; unit == 0; i++) {
        size_t length = strlen(units[i].suffix);
        if (value.length >= length &&
            memcmp(value.at + value.length - length, units[i].suffix, length) == 0) {
            number.length -= length;
            unit = units[i].nanoseconds;
        }
    }
    if (memchr(number.at, '.', number.length) != NULL)
        return parse_fail(parser, memchr(number.at, '.', number.length),
                          "timeout expects an integer number of seconds, or one with 's', 'ms' or "
                          "'us', as 500ms; found '%.*s'",
                          (int)value.length, value.at);
    size_t digits = strspn(number.at, "0123456789");
    bool hexadecimal = digits == 1 && number.at[0] == '0' && number.at[1] == 'x';
    if (digits > 0 && digits < number.length && !hexadecimal)
        return parse_fail(parser, number.at + digits,
                          "timeout expects an integer number of seconds, or one with 's', 'ms' or "
                          "'us', as 500ms; found '%.*s'",
                          (int)value.length, value.at);
    uint64_t amount;
    int status = parse_integer(parser, number, "timeout", &amount);
    if (status != 0)
        return status;
    alarm->value_kind = CTL_VALUE_NUMBER;
    /* The timer adds it to a clock in signed nanoseconds. */
    if (__builtin_mul_overflow(amount, unit, &alarm->number) || alarm->number > INT64_MAX)
        return parse_fail(parser, value.at, "timeout '%.*s' is more than 292 years",
                          (int)value.length, value.at);
    if (alarm->number < CTL_TIMEOUT_LEAST_NS)
        return parse_fail(parser, value.at,
                          "a timeout of '%.*s' is too short; it must be at least %uus",
                          (int)value.length, value.at, CTL_TIMEOUT_LEAST_NS / 1000);
    return 0;
}

static int value_signal(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    uint64_t number = 0;
    if (value.at[0] >= '0' && value.at[0] <= '9') {
        int status = parse_integer(parser, value, "signal", &number);
        if (status != 0)
            return status;
        if (number < 1 || number > 64)
            return parse_fail(parser, value.at, "signal numbers are 1 to 64, found '%.*s'",
                              (int)value.length, value.at);
    } else {
        number = (uint64_t)signal_number(value);
    }
    if (number == 0) {
        static const char *const common[] = {"SIGHUP",   "SIGINT",  "SIGQUIT", "SIGUSR1", "SIGUSR2",
                                             "SIGALRM",  "SIGTERM", "SIGCHLD", "SIGCONT", "SIGTSTP",
                                             "SIGWINCH", "SIGPROF", "SIGPIPE", NULL};
        const char *nearest = name_nearest(value, common);
        return parse_fail(parser, value.at,
                          "unknown signal '%.*s'%s%s%s legal here: 1 to 64, or a name as SIGUSR1, "
                          "USR1, SIGRTMIN+3",
                          (int)value.length, value.at, nearest != NULL ? ", did you mean '" : ";",
                          nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    if (number == 9 || number == 19)
        return parse_fail(parser, value.at,
                          "signal '%.*s' is never delivered to a program; nothing can see it",
                          (int)value.length, value.at);
    if (number == 32 || number == 33)
        return parse_fail(parser, value.at,
                          "signal %u belongs to the C library; nothing can see it",
                          (unsigned)number);
    alarm->value_kind = CTL_VALUE_NUMBER;
    alarm->number = number;
    return 0;
}

static int value_name(struct parser *parser, struct span value, struct ctl_alarm *alarm)
{
    (void)parser;
    (void)value;
    alarm->value_kind = CTL_VALUE_NAME;
    return 0;
}

typedef int value_function(struct parser *parser, struct span value, struct ctl_alarm *alarm);

static const struct {
    const char *expected;
    value_function *parse;
} values[CTL_UNIFORM] = {
    [CTL_ICOUNT] = {"a number of instructions", value_icount},
    [CTL_ADDRESS] = {"an address (0x..., a symbol, or IMAGE+OFFSET)", value_address},
    [CTL_SSC] = {"hexadecimal digits without 0x", value_ssc},
    [CTL_ITEXT] = {"1 to 15 bytes in hexadecimal", value_itext},
    [CTL_ISA_EXTENSION] = {"the name of an ISA extension, as AVX512EVEX", value_isa},
    [CTL_ISA_CATEGORY] = {"the name of an ISA category, as COND_BR", value_isa},
    [CTL_MAGIC] = {"two integers A.B", value_magic},
    [CTL_CPUID] = {"an integer below 0x10000", value_cpuid},
    [CTL_PCONTROL] = {"a text, or level=N", value_pcontrol},
    [CTL_ENTER_FUNC] = {"the name of a function", value_name},
    [CTL_EXIT_FUNC] = {"the name of a function", value_name},
    [CTL_TIMEOUT] = {"a number of seconds, or one with 's', 'ms' or 'us'", value_timeout},
    [CTL_SIGNAL] = {"a signal's number or name", value_signal},
    [CTL_IMAGE_LOAD] = {"a file name", value_name},
};

/* Parses the optional count that int3 has in place of a value. */
static int value_int3(struct parser *parser, const struct piece *piece, unsigned *next,
                      struct ctl_alarm *alarm)
{
    if (piece->count < 3 || piece->fields[2].length == 0 || piece->fields[2].at[0] < '0' ||
        piece->fields[2].at[0] > '9')
        return 0;
    int status = parse_integer(parser, piece->fields[2], "the count of int3", &alarm->count);
    if (status == 0 && alarm->count == 0)
        return parse_fail(parser, piece->fields[2].at,
                          "int3:0 would never fire; the count must be at least 1");
    *next = 3;
    return status;
}

int parse_value(struct parser *parser, const struct piece *piece, unsigned *next,
                struct ctl_alarm *alarm)
{
    if (alarm->type == CTL_INT3)
        return value_int3(parser, piece, next, alarm);
    if (values[alarm->type].parse == NULL)
        return 0;
    struct span value;
    int status = value_text(parser, piece, values[alarm->type].expected, alarm, &value);
    if (status != 0)
        return status;
    *next = 3;
    return values[alarm->type].parse(parser, value, alarm);
}
