/* SPDX-License-Identifier: BSD-3-Clause
 * Translates legacy options of Pin's controller, and DynamoRIO's trace options, into chains of the
 * same meaning. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/language/language.h"

/* Options that are a start or a stop each: value[:count][:tidN][:repeat]. */
static const struct {
    const char *option;
    enum ctl_event event;
    enum ctl_type type;
} edges[] = {
    {"skip", CTL_START, CTL_ICOUNT},
    {"start-address", CTL_START, CTL_ADDRESS},
    {"stop-address", CTL_STOP, CTL_ADDRESS},
    {"start-ssc-mark", CTL_START, CTL_SSC},
    {"stop-ssc-mark", CTL_STOP, CTL_SSC},
    {"start-itext", CTL_START, CTL_ITEXT},
    {"stop-itext", CTL_STOP, CTL_ITEXT},
    {"start-int3", CTL_START, CTL_INT3},
    {"stop-int3", CTL_STOP, CTL_INT3},
    {"start-extension", CTL_START, CTL_ISA_EXTENSION},
    {"stop-extension", CTL_STOP, CTL_ISA_EXTENSION},
    {"start-category", CTL_START, CTL_ISA_CATEGORY},
    {"stop-category", CTL_STOP, CTL_ISA_CATEGORY},
};
#define EDGE_COUNT (sizeof edges / sizeof edges[0])

/* Options that work together; each at most once. */
static const char *const numbers[] = {
    "length",           "uniform-skip",         "uniform-period",
    "uniform-length",   "uniform-count",        "trace-after-instrs",
    "trace-for-instrs", "retrace-every-instrs", NULL};

static int edge_find(struct span option)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        if (name_equals(option, edges[i].option))
            return (int)i;
    }
    return -1;
}

static const char *legacy_value_of(const struct ctl_builder *builder, const char *option)
{
    for (size_t i = 0; i < builder->legacy_count; i++) {
        if (strcmp(builder->legacy[i].option, option) == 0)
            return builder->legacy[i].value;
    }
    return NULL;
}

static int unknown_option(const char *option, struct rt_error *err)
{
    const char *names[EDGE_COUNT + sizeof numbers / sizeof numbers[0]];
    size_t count = 0;
    for (size_t i = 0; i < EDGE_COUNT; i++)
        names[count++] = edges[i].option;
    for (size_t i = 0; numbers[i] != NULL; i++)
        names[count++] = numbers[i];
    names[count] = NULL;
    const char *nearest = name_nearest((struct span){option, strlen(option)}, names);
    rt_error_set(err, "unknown controller option '-%s'%s%s%s", option,
                 nearest != NULL ? ", did you mean '-" : "", nearest != NULL ? nearest : "",
                 nearest != NULL ? "'?" : "");
    return -EINVAL;
}

static int check_number(const char *option, const char *value, struct rt_error *err)
{
    uint64_t number;
    const char *bad;
    switch (number_parse((struct span){value, strlen(value)}, &number, &bad)) {
    case NUMBER_OK: return 0;
    case NUMBER_EMPTY:
        rt_error_set(err, "-%s expects an integer (decimal, or hexadecimal with 0x), found nothing",
                     option);
        return -EINVAL;
    case NUMBER_OVERFLOW:
        rt_error_set(err, "-%s '%s' does not fit 64 bits", option, value);
        return -EINVAL;
    case NUMBER_BAD: break;
    }
    rt_error_set(
        err,
        "-%s expects an integer (decimal, or hexadecimal with 0x), found '%s', wrong at column %zu",
        option, value, (size_t)(bad - value) + 1);
    return -EINVAL;
}

int legacy_add(struct ctl_builder *builder, const char *option, const char *value,
               struct rt_error *err)
{
    struct span found = {option, strlen(option)};
    int edge = edge_find(found);
    const char *name = edge >= 0 ? edges[edge].option : NULL;
    if (name == NULL) {
        int number = name_find(found, numbers);
        if (number < 0)
            return unknown_option(option, err);
        name = numbers[number];
        if (legacy_value_of(builder, name) != NULL) {
            rt_error_set(err, "-%s is given twice", name);
            return -EINVAL;
        }
        int status = check_number(name, value, err);
        if (status != 0)
            return status;
    }
    if (builder->legacy_count == builder->legacy_capacity) {
        size_t capacity = builder->legacy_capacity * 2 + 8;
        struct legacy_value *larger = realloc(builder->legacy, capacity * sizeof *larger);
        if (larger == NULL)
            return -ENOMEM;
        builder->legacy = larger;
        builder->legacy_capacity = capacity;
    }
    bool plain_int3 = edge >= 0 && edges[edge].type == CTL_INT3 && value[0] == '\0';
    char *copy = strdup(plain_int3 ? "1" : value);
    if (copy == NULL)
        return -ENOMEM;
    builder->legacy[builder->legacy_count].option = name;
    builder->legacy[builder->legacy_count++].value = copy;
    return 0;
}

/* ---- As chains ---- */

static bool is_number(struct span text)
{
    uint64_t value;
    const char *bad;
    return number_parse(text, &value, &bad) == NUMBER_OK;
}

/* Appends the fields after the value. A bare number is a count; `repeat` belongs to the chain. */
static char *append_fields(char *out, const char *fields, bool *repeat)
{
    while (*fields == ':') {
        const char *at = fields + 1;
        struct span field = {at, strcspn(at, ":")};
        fields = at + field.length;
        if (name_equals(field, "repeat")) {
            *repeat = true;
            continue;
        }
        out = stpcpy(out, is_number(field) ? ":count" : ":");
        memcpy(out, field.at, field.length);
        out += field.length;
        *out = '\0';
    }
    return out;
}

static size_t value_length(const char *value)
{
    bool quoted = false;
    size_t i = 0;
    for (; value[i] != '\0' && (quoted || value[i] != ':'); i++) {
        if (value[i] == '"')
            quoted = !quoted;
    }
    return i;
}

static int add_edge(struct ctl_builder *builder, const struct legacy_value *legacy,
                    const char *length, struct rt_error *err)
{
    int edge = edge_find((struct span){legacy->option, strlen(legacy->option)});
    size_t value = value_length(legacy->value);
    /* -start-int3 0 requests nothing. */
    if (edges[edge].type == CTL_INT3 && value == 1 && legacy->value[0] == '0')
        return 0;
    /* Each field has at least two characters, with its ':', and grows by "count". */
    char *text = malloc(strlen(legacy->value) * 4 + (length != NULL ? strlen(length) : 0) + 128);
    char origin[96];
    if (text == NULL)
        return -ENOMEM;
    bool repeat = false;
    char *at = text + sprintf(text, "%s:%s:%.*s", event_names[edges[edge].event],
                              type_names[edges[edge].type], (int)value, legacy->value);
    at = append_fields(at, legacy->value + value, &repeat);
    if (length != NULL && edges[edge].event == CTL_START)
        at += sprintf(at, ",stop:icount:%s", length);
    if (repeat)
        strcpy(at, ",repeat");
    snprintf(origin, sizeof origin, "from -%s %.60s", legacy->option, legacy->value);
    int status = parse_chain(builder, text, strlen(text), origin, NULL, err);
    free(text);
    return status;
}

static int add_text(struct ctl_builder *builder, const char *origin, struct rt_error *err,
                    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static int add_text(struct ctl_builder *builder, const char *origin, struct rt_error *err,
                    const char *fmt, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, fmt);
    int length = vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text) {
        rt_error_set(err, "%s: a number has too many digits", origin);
        return -EINVAL;
    }
    return parse_chain(builder, text, (size_t)length, origin, NULL, err);
}

static int missing(const char *option, const char *because, struct rt_error *err)
{
    rt_error_set(err, "-%s is missing; -%s needs it", option, because);
    return -EINVAL;
}

static int add_uniform(struct ctl_builder *builder, struct rt_error *err)
{
    const char *skip = legacy_value_of(builder, "uniform-skip");
    const char *period = legacy_value_of(builder, "uniform-period");
    const char *length = legacy_value_of(builder, "uniform-length");
    const char *count = legacy_value_of(builder, "uniform-count");
    const char *any = skip != NULL     ? "uniform-skip"
                      : period != NULL ? "uniform-period"
                      : length != NULL ? "uniform-length"
                      : count != NULL  ? "uniform-count"
                                       : NULL;
    if (any == NULL)
        return 0;
    if (period == NULL || length == NULL || count == NULL)
        return missing(period == NULL   ? "uniform-period"
                       : length == NULL ? "uniform-length"
                                        : "uniform-count",
                       any, err);
    int status =
        skip == NULL
            ? add_text(builder, "from -uniform-*", err, "uniform:%s:%s:%s", period, length, count)
            : add_text(builder, "from -uniform-*", err, "precond:icount:%s,uniform:%s:%s:%s", skip,
                       period, length, count);
    if (status == 0)
        builder_warn(builder,
                     "-uniform-period %s is taken as start to start, as in "
                     "'uniform:PERIOD:LENGTH:COUNT'; the SDE manual "
                     "is contradictory about it (it equates a period of 500 with one of 800)",
                     period);
    return status;
}

/* DynamoRIO counts and traces all threads together. Its retrace gap begins at the end of a
 * window. */
static int add_dynamorio(struct ctl_builder *builder, struct rt_error *err)
{
    const char *after = legacy_value_of(builder, "trace-after-instrs");
    const char *length = legacy_value_of(builder, "trace-for-instrs");
    const char *gap = legacy_value_of(builder, "retrace-every-instrs");
    const char *origin = "from -trace_after_instrs etc.";
    if (gap != NULL && length == NULL)
        return missing("trace_for_instrs", "retrace_every_instrs", err);
    if (length == NULL)
        return after == NULL
                   ? 0
                   : add_text(builder, origin, err, "start:icount:%s:global:bcast", after);
    if (after == NULL)
        after = "0";
    if (gap == NULL)
        return add_text(builder, origin, err,
                        "start:icount:%s:global:bcast,stop:icount:%s:global:bcast", after, length);
    int status =
        add_text(builder, origin, err,
                 "start:icount:%s:global:bcast,stop:icount:%s:global:bcast,name:trace_for_instrs",
                 after, length);
    return status != 0 ? status
                       : add_text(builder, origin, err,
                                  "start:icount:%s:global:bcast,stop:icount:%s:global:bcast,repeat,"
                                  "waitfor:trace_for_instrs",
                                  gap, length);
}

int legacy_finish(struct ctl_builder *builder, struct rt_error *err)
{
    const char *length = legacy_value_of(builder, "length");
    bool has_start = false;
    for (size_t i = 0; i < builder->legacy_count; i++) {
        int edge =
            edge_find((struct span){builder->legacy[i].option, strlen(builder->legacy[i].option)});
        if (edge < 0)
            continue;
        has_start = has_start || edges[edge].event == CTL_START;
        int status = add_edge(builder, &builder->legacy[i], length, err);
        if (status != 0)
            return status;
    }
    int status = 0;
    if (length != NULL && !has_start)
        status = add_text(builder, "from -length", err, "stop:icount:%s", length);
    if (status == 0)
        status = add_uniform(builder, err);
    return status != 0 ? status : add_dynamorio(builder, err);
}
