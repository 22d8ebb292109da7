/* SPDX-License-Identifier: BSD-3-Clause
 * Parses one chain of the control language: pieces, alarms, chain options, and errors with their
 * column. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/language/language.h"

void parser_emit(struct parser *parser, const char *at, size_t length)
{
    memcpy(parser->canonical + parser->canonical_length, at, length);
    parser->canonical_length += length;
    parser->canonical[parser->canonical_length] = '\0';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct span span_trim(struct span text)
{
    while (text.length > 0 && is_blank(text.at[0])) {
        text.at++;
        text.length--;
    }
    while (text.length > 0 && is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

/* Cuts at the next `separator` outside quotes and returns the span before it. `*at` moves past the
 * separator, or becomes NULL at the end. */
static struct span cut_at(const char **at, const char *end, char separator)
{
    const char *p = *at;
    bool quoted = false;
    for (; p < end && (quoted || *p != separator); p++) {
        if (*p == '"')
            quoted = !quoted;
    }
    struct span part = {*at, (size_t)(p - *at)};
    *at = p < end ? p + 1 : NULL;
    return part;
}

static int piece_split(struct parser *parser, struct piece *piece)
{
    const char *at = piece->whole.at, *end = at + piece->whole.length;
    piece->count = 0;
    while (at != NULL) {
        if (piece->count == MAX_FIELDS)
            return parse_fail(parser, at, "more than %d fields in one alarm", MAX_FIELDS);
        piece->fields[piece->count++] = cut_at(&at, end, ':');
    }
    return 0;
}

/* ---- Alarms ---- */

static int alarm_append(struct parser *parser, struct ctl_alarm *alarm, const struct piece *piece)
{
    struct ctl_builder *builder = parser->builder;
    if (builder->alarm_count >= CTL_MAX_ALARMS)
        return parse_fail(parser, piece->whole.at, "more than %u alarms in all chains",
                          CTL_MAX_ALARMS);
    if (builder->alarm_count == builder->alarm_capacity) {
        size_t capacity = builder->alarm_capacity * 2 + 16;
        struct ctl_alarm *alarms = realloc(builder->alarms, capacity * sizeof *alarms);
        if (alarms != NULL)
            builder->alarms = alarms;
        size_t *places = realloc(builder->alarm_at, capacity * sizeof *places);
        if (places != NULL)
            builder->alarm_at = places;
        if (alarms == NULL || places == NULL)
            return -ENOMEM;
        builder->alarm_capacity = capacity;
    }
    alarm->text = pool_copy(&builder->pool, piece->whole.at, piece->whole.length);
    if (alarm->value == NULL)
        alarm->value = "";
    if (alarm->text == NULL)
        return -ENOMEM;
    alarm->index = (uint16_t)builder->alarm_count;
    alarm->chain = (uint16_t)builder->chain_count;
    alarm->position = (uint16_t)(builder->alarm_count - parser->first_alarm);
    builder->alarm_at[builder->alarm_count] = (size_t)(piece->whole.at - parser->text);
    builder->alarms[builder->alarm_count++] = *alarm;
    return 0;
}

static const char *const piece_names[] = {"start",
                                          "stop",
                                          "precond",
                                          "threadid",
                                          "warmup-start",
                                          "warmup-stop",
                                          "prolog-start",
                                          "prolog-stop",
                                          "epilog-start",
                                          "epilog-stop",
                                          "stats-emit",
                                          "stats-reset",
                                          "stats-emit-reset",
                                          "uniform",
                                          "repeat",
                                          "name",
                                          "waitfor",
                                          NULL};

static bool is_alarm_token(struct span field)
{
    static const char *const words[] = {"global", "exact", "count", "tid", "ranks", NULL};
    for (size_t i = 0; words[i] != NULL; i++) {
        size_t length = strlen(words[i]);
        struct span head = {field.at, field.length < length ? field.length : length};
        bool whole =
            i < 2 ? field.length == length : field.length > length && field.at[length] <= '9';
        if (whole && name_equals(head, words[i]))
            return true;
    }
    return false;
}

static int unknown_piece(struct parser *parser, struct span name)
{
    char legal[256];
    names_join(legal, sizeof legal, piece_names);
    if (name.length == 0)
        return parse_fail(parser, name.at,
                          "expected an alarm or a chain option, found nothing; legal here: %s",
                          legal);
    if (is_alarm_token(name))
        return parse_fail(parser, name.at,
                          "'%.*s' belongs to an alarm: write ':%.*s' after it instead of ','",
                          (int)name.length, name.at, (int)name.length, name.at);
    if (name.length > 6 && name_equals((struct span){name.at, 6}, "repeat"))
        return parse_fail(parser, name.at,
                          "'%.*s': write 'repeat' (endless) or 'repeat:N' (N passes)",
                          (int)name.length, name.at);
    if (name_find(name, type_names) >= 0)
        return parse_fail(
            parser, name.at,
            "expected an event before the alarm type '%.*s', as in 'start:%.*s'; legal here: %s",
            (int)name.length, name.at, (int)name.length, name.at, legal);
    const char *nearest = name_nearest(name, piece_names);
    if (nearest != NULL)
        return parse_fail(parser, name.at,
                          "unknown event or option '%.*s', did you mean '%s'? legal here: %s",
                          (int)name.length, name.at, nearest, legal);
    return parse_fail(parser, name.at, "unknown event or option '%.*s'; legal here: %s",
                      (int)name.length, name.at, legal);
}

static int unknown_type(struct parser *parser, const struct piece *piece)
{
    char legal[256];
    names_join(legal, sizeof legal, type_names);
    const struct span event = piece->fields[0];
    if (piece->count < 2 || piece->fields[1].length == 0)
        return parse_fail(parser, piece->count < 2 ? event.at + event.length : piece->fields[1].at,
                          "expected an alarm type after '%.*s:', found nothing; legal here: %s",
                          (int)event.length, event.at, legal);
    const struct span type = piece->fields[1];
    const char *nearest = name_nearest(type, type_names);
    if (nearest != NULL)
        return parse_fail(parser, type.at,
                          "unknown alarm type '%.*s', did you mean '%s'? legal here: %s",
                          (int)type.length, type.at, nearest, legal);
    return parse_fail(parser, type.at, "unknown alarm type '%.*s'; legal here: %s",
                      (int)type.length, type.at, legal);
}

static void emit_fields(struct parser *parser, const struct piece *piece, unsigned from)
{
    for (unsigned i = from; i < piece->count; i++) {
        const struct span field = piece->fields[i];
        /* Without quotes, a ';' would end the chain in a list. */
        bool quote = field.length > 0 && memchr(field.at, '"', field.length) == NULL &&
                     memchr(field.at, ';', field.length) != NULL;
        parser_emit(parser, ":", 1);
        if (quote)
            parser_emit(parser, "\"", 1);
        parser_emit(parser, field.at, field.length);
        if (quote)
            parser_emit(parser, "\"", 1);
    }
}

static int parse_alarm(struct parser *parser, const struct piece *piece, int event)
{
    int type = piece->count > 1 ? name_find(piece->fields[1], type_names) : -1;
    if (type < 0)
        return unknown_type(parser, piece);
    struct ctl_alarm alarm = {
        .event = (uint8_t)event, .type = (uint8_t)type, .count = 1, .tid = CTL_ANY_TID};
    unsigned next = 2;
    int status = parse_value(parser, piece, &next, &alarm);
    if (status == 0)
        status = parse_tokens(parser, piece, next, &alarm);
    if (status == 0)
        status = alarm_append(parser, &alarm, piece);
    if (status != 0)
        return status;
    parser_emit(parser, event_names[event], strlen(event_names[event]));
    parser_emit(parser, ":", 1);
    parser_emit(parser, type_names[type], strlen(type_names[type]));
    emit_fields(parser, piece, 2);
    return 0;
}

static int parse_uniform(struct parser *parser, const struct piece *piece)
{
    static const char *const parts[] = {"the period of uniform", "the length of uniform",
                                        "the count of uniform"};
    uint64_t numbers[3];
    if (parser->out->has_uniform)
        return parse_fail(parser, piece->whole.at,
                          "a second uniform; only one is allowed in all chains");
    for (unsigned i = 0; i < 3; i++) {
        if (piece->count < i + 2) {
            const struct span last = piece->fields[piece->count - 1];
            return parse_fail(parser, last.at + last.length,
                              "%s is missing; write 'uniform:PERIOD:LENGTH:COUNT'", parts[i]);
        }
        int status = parse_integer(parser, piece->fields[i + 1], parts[i], &numbers[i]);
        if (status != 0)
            return status;
        if (numbers[i] == 0)
            return parse_fail(parser, piece->fields[i + 1].at, "%s is 0; it must be at least 1",
                              parts[i]);
    }
    if (numbers[0] < numbers[1])
        return parse_fail(
            parser, piece->fields[1].at,
            "the period of uniform (%llu, start to start) is shorter than its length (%llu)",
            (unsigned long long)numbers[0], (unsigned long long)numbers[1]);
    if (numbers[2] > UINT64_MAX / 2)
        return parse_fail(parser, piece->fields[3].at,
                          "the count of uniform is too large (at most 2^63 - 1)");
    struct ctl_alarm alarm = {.event = CTL_START,
                              .type = CTL_UNIFORM,
                              .value_kind = CTL_VALUE_UNIFORM,
                              .bcast = true,
                              .tid = CTL_ANY_TID,
                              .number = numbers[0],
                              .second = numbers[1],
                              .count = numbers[2]};
    int status = parse_tokens(parser, piece, 4, &alarm);
    if (status == 0)
        status = alarm_append(parser, &alarm, piece);
    if (status != 0)
        return status;
    parser->out->has_uniform = true;
    parser->out->uniform_at = (size_t)(piece->whole.at - parser->text);
    parser_emit(parser, "uniform", 7);
    emit_fields(parser, piece, 1);
    return 0;
}

/* ---- Chain options ---- */

static int parse_repeat(struct parser *parser, const struct piece *piece)
{
    if (parser->has_repeat)
        return parse_fail(parser, piece->whole.at, "'repeat' stands twice in this chain");
    if (piece->count > 2)
        return parse_fail(parser, piece->fields[2].at - 1,
                          "nothing may follow 'repeat:N', found ':%.*s'",
                          (int)piece->fields[2].length, piece->fields[2].at);
    parser->has_repeat = true;
    parser->out->chain.repeat = CTL_ENDLESS;
    if (piece->count == 2) {
        int status = parse_integer(parser, piece->fields[1], "repeat", &parser->out->chain.repeat);
        if (status != 0)
            return status;
        if (parser->out->chain.repeat == 0)
            return parse_fail(
                parser, piece->fields[1].at,
                "repeat:0 would never run; write at least 1, or 'repeat' for an endless chain");
    }
    parser_emit(parser, "repeat", 6);
    emit_fields(parser, piece, 1);
    return 0;
}

/* Parses name:ID and waitfor:ID. */
static int parse_name(struct parser *parser, const struct piece *piece, bool waitfor)
{
    const char *what = waitfor ? "waitfor" : "name";
    if (waitfor ? parser->out->waitfor_name != NULL : parser->has_name)
        return parse_fail(parser, piece->whole.at, "'%s' stands twice in this chain", what);
    if (piece->count < 2 || piece->fields[1].length == 0)
        return parse_fail(parser, piece->whole.at + piece->whole.length,
                          "expected the name of a chain, as in '%s:setup', found nothing", what);
    if (piece->count > 2)
        return parse_fail(parser, piece->fields[2].at - 1,
                          "nothing may follow '%s:ID', found ':%.*s'", what,
                          (int)piece->fields[2].length, piece->fields[2].at);
    const struct span id = piece->fields[1];
    for (size_t i = 0; i < id.length; i++) {
        unsigned char c = (unsigned char)id.at[i];
        bool plain = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                     (c >= 'a' && c <= 'z') || c == '_' || c == '-' || c == '.';
        if (!plain)
            return parse_fail(
                parser, id.at + i,
                "a chain's name consists of letters, digits, '_', '-' and '.', found '%c'", c);
    }
    char *copy = pool_copy(&parser->builder->pool, id.at, id.length);
    if (copy == NULL)
        return -ENOMEM;
    if (waitfor) {
        parser->out->waitfor_name = copy;
        parser->out->waitfor_at = (size_t)(id.at - parser->text);
    } else {
        parser->has_name = true;
        parser->out->chain.name = copy;
        parser->out->name_at = (size_t)(id.at - parser->text);
    }
    parser_emit(parser, what, strlen(what));
    emit_fields(parser, piece, 1);
    return 0;
}

/* Parses `,bcast` as a piece, which two lines of Intel SDE's controller (Pin's InstLib
 * control_manager) have. It belongs to the alarm before it. */
static int parse_bcast(struct parser *parser, const struct piece *piece)
{
    struct ctl_builder *builder = parser->builder;
    if (piece->count > 1)
        return parse_fail(parser, piece->fields[1].at - 1,
                          "nothing may follow 'bcast' here, found ':%.*s'",
                          (int)piece->fields[1].length, piece->fields[1].at);
    if (builder->alarm_count == parser->first_alarm)
        return parse_fail(parser, piece->whole.at, "'bcast' has no alarm before it");
    struct ctl_alarm *alarm = &builder->alarms[builder->alarm_count - 1];
    if (alarm->type == CTL_UNIFORM)
        return parse_fail(parser, piece->whole.at, "every event of a uniform is bcast already");
    if (alarm->bcast)
        return parse_fail(parser, piece->whole.at, "'bcast' stands twice at one alarm");
    char *text = pool_allocate(&builder->pool, strlen(alarm->text) + sizeof ":bcast");
    if (text == NULL)
        return -ENOMEM;
    strcat(strcpy(text, alarm->text), ":bcast");
    alarm->text = text;
    alarm->bcast = true;
    parser_emit(parser, "bcast", 5);
    return 0;
}

static int parse_piece(struct parser *parser, struct span whole)
{
    struct piece piece = {.whole = span_trim(whole)};
    int status = piece_split(parser, &piece);
    if (status != 0)
        return status;
    if (parser->canonical_length != 0)
        parser_emit(parser, ",", 1);
    const struct span name = piece.fields[0];
    int event = name_find(name, event_names);
    if (event >= 0)
        return parse_alarm(parser, &piece, event);
    if (name_equals(name, "uniform"))
        return parse_uniform(parser, &piece);
    if (name_equals(name, "repeat"))
        return parse_repeat(parser, &piece);
    if (name_equals(name, "name"))
        return parse_name(parser, &piece, false);
    if (name_equals(name, "waitfor"))
        return parse_name(parser, &piece, true);
    if (name_equals(name, "bcast"))
        return parse_bcast(parser, &piece);
    return unknown_piece(parser, name);
}

/* ---- The chain ---- */

static int check_characters(struct parser *parser)
{
    const char *quote = NULL;
    for (const char *p = parser->text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return parse_fail(parser, p, "control character 0x%02x", c);
        if (c == '"')
            quote = quote != NULL ? NULL : p;
    }
    return quote != NULL ? parse_fail(parser, quote, "this quote is not closed") : 0;
}

/* A chain that repeats needs an alarm that takes time; otherwise it would fire forever at one
 * instruction. */
static int check_progress(struct parser *parser)
{
    const struct ctl_builder *builder = parser->builder;
    if (!parser->has_repeat)
        return 0;
    for (size_t i = parser->first_alarm; i < builder->alarm_count; i++) {
        if (builder->alarms[i].type != CTL_ICOUNT || builder->alarms[i].distance != 0)
            return 0;
    }
    return parse_fail(parser, parser->text,
                      "every alarm of this repeated chain is icount:0: it would fire without end "
                      "at one instruction");
}

static int parse_all(struct parser *parser)
{
    int status = check_characters(parser);
    const char *at = parser->text, *end = at + parser->length;
    while (status == 0 && at != NULL)
        status = parse_piece(parser, cut_at(&at, end, ','));
    if (status == 0 && parser->builder->alarm_count == parser->first_alarm)
        status = parse_fail(parser, parser->text,
                            "the chain has no alarm; it needs one, as in 'start:pcontrol:solve'");
    return status != 0 ? status : check_progress(parser);
}

static int chain_reserve(struct ctl_builder *builder)
{
    if (builder->chain_count < builder->chain_capacity)
        return 0;
    size_t capacity = builder->chain_capacity * 2 + 8;
    struct built_chain *chains = realloc(builder->chains, capacity * sizeof *chains);
    if (chains == NULL)
        return -ENOMEM;
    builder->chains = chains;
    builder->chain_capacity = capacity;
    return 0;
}

int parse_chain(struct ctl_builder *builder, const char *text, size_t length, const char *origin,
                const char *label, struct rt_error *err)
{
    struct span trimmed = {text, length};
    while (trimmed.length > 0 && strchr("\r\n", trimmed.at[trimmed.length - 1]) != NULL)
        trimmed.length--;
    trimmed = span_trim(trimmed);
    size_t blocks = builder->pool.count;
    struct built_chain out = {
        .chain = {.repeat = 1, .name = "", .region = "", .waitfor = CTL_NO_ALARM}};
    struct parser parser = {.builder = builder, .err = err, .length = trimmed.length, .out = &out};
    parser.first_alarm = builder->alarm_count;
    parser.text = pool_copy(&builder->pool, trimmed.at, trimmed.length);
    parser.canonical = pool_allocate(&builder->pool, trimmed.length * 3 + 64);
    parser.origin = pool_copy(&builder->pool, origin, strlen(origin));
    out.chain.label = label != NULL ? pool_copy(&builder->pool, label, strlen(label)) : "";
    int status = -ENOMEM;
    if (parser.text != NULL && parser.canonical != NULL && parser.origin != NULL &&
        out.chain.label != NULL)
        status = chain_reserve(builder);
    if (status == 0)
        status = parse_all(&parser);
    if (status != 0) {
        if (status == -ENOMEM)
            rt_error_set(err, "%.160s: out of memory", origin);
        builder->alarm_count = parser.first_alarm;
        pool_cut(&builder->pool, blocks);
        return status;
    }
    out.source = parser.text;
    out.chain.index = (uint16_t)builder->chain_count;
    out.chain.first_alarm = (uint16_t)parser.first_alarm;
    out.chain.alarm_count = (uint16_t)(builder->alarm_count - parser.first_alarm);
    out.chain.text = parser.canonical;
    out.chain.origin = parser.origin;
    builder->chains[builder->chain_count++] = out;
    return 0;
}
