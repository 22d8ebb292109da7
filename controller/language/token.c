/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the tokens after an alarm (count, tid, bcast, global, exact, ranks) and checks which go
 * together. */
#include <errno.h>
#include <string.h>

#include "controller/language/language.h"

static const char *const token_names[] = {"count", "tid",   "bcast", "global",
                                          "exact", "ranks", NULL};

/* Position of each token in the text; NULL = not given. */
struct tokens {
    const char *count, *tid, *bcast, *global, *exact, *ranks;
};

static bool has_prefix(struct span field, const char *name, struct span *rest)
{
    size_t length = strlen(name);
    if (field.length < length || !name_equals((struct span){field.at, length}, name))
        return false;
    *rest = (struct span){field.at + length, field.length - length};
    return true;
}

static int token_once(struct parser *parser, struct span field, const char *name,
                      const char **place)
{
    if (*place != NULL)
        return parse_fail(parser, field.at, "'%s' stands twice at one alarm", name);
    *place = field.at;
    return 0;
}

static int parse_count(struct parser *parser, struct span number, struct ctl_alarm *alarm)
{
    int status = parse_integer(parser, number, "count (write 'count3')", &alarm->count);
    if (status == 0 && alarm->count == 0)
        return parse_fail(parser, number.at, "count0 would never fire; count must be at least 1");
    return status;
}

static int parse_tid(struct parser *parser, struct span number, struct ctl_alarm *alarm)
{
    uint64_t tid;
    int status = parse_integer(parser, number, "tid (write 'tid0')", &tid);
    if (status != 0)
        return status;
    if (tid >= CTL_ANY_TID)
        return parse_fail(parser, number.at, "tid %.*s is too large", (int)number.length,
                          number.at);
    alarm->tid = (uint32_t)tid;
    return 0;
}

static int parse_rank(struct parser *parser, struct span number, uint32_t *rank)
{
    uint64_t value;
    int status = parse_integer(parser, number, "ranks (write 'ranks0-3+8')", &value);
    if (status == 0 && value > UINT32_MAX)
        return parse_fail(parser, number.at, "rank %.*s is too large", (int)number.length,
                          number.at);
    *rank = status == 0 ? (uint32_t)value : 0;
    return status;
}

static struct span cut_before(struct span *text, char separator, bool *found)
{
    const char *at = text->length > 0 ? memchr(text->at, separator, text->length) : NULL;
    struct span part = *text;
    *found = at != NULL;
    if (at != NULL)
        part.length = (size_t)(at - text->at);
    text->at += part.length + (at != NULL);
    text->length -= part.length + (at != NULL);
    return part;
}

/* Parses ranges joined by '+', such as "0-3+8". */
static int parse_ranks(struct parser *parser, struct span list, struct ctl_alarm *alarm)
{
    size_t most = 1;
    for (size_t i = 0; i < list.length; i++)
        most += list.at[i] == '+';
    struct ctl_range *ranges = pool_allocate(&parser->builder->pool, most * sizeof *ranges);
    if (ranges == NULL)
        return -ENOMEM;
    alarm->ranks = ranges;
    for (bool more = true; more;) {
        struct span item = cut_before(&list, '+', &more);
        bool is_range;
        struct span first = cut_before(&item, '-', &is_range);
        struct ctl_range *range = &ranges[alarm->range_count++];
        int status = parse_rank(parser, first, &range->first);
        range->last = range->first;
        if (status == 0 && is_range)
            status = parse_rank(parser, item, &range->last);
        if (status != 0)
            return status;
        if (range->last < range->first)
            return parse_fail(parser, first.at, "the range of ranks %u-%u is empty", range->first,
                              range->last);
    }
    return 0;
}

static bool is_name_type(const struct ctl_alarm *alarm)
{
    return alarm->value_kind == CTL_VALUE_NAME || alarm->value_kind == CTL_VALUE_NAME_OFFSET ||
           alarm->value_kind == CTL_VALUE_STRING;
}

static int unknown_token(struct parser *parser, struct span field, const struct ctl_alarm *alarm)
{
    bool uniform = alarm->type == CTL_UNIFORM;
    const char *legal =
        uniform ? "tidN, ranksLIST" : "countN, tidN, bcast, global, exact, ranksLIST";
    const char *hint = is_name_type(alarm) && !alarm->quoted
                           ? "; a value that holds ':' or ',' must be in quotes"
                           : "";
    struct span rest;
    if (field.length == 0)
        return parse_fail(parser, field.at,
                          "expected a token after ':', found nothing; legal here: %s%s", legal,
                          hint);
    if (has_prefix(field, "repeat", &rest))
        return parse_fail(parser, field.at,
                          "'repeat' belongs to the chain: write ',repeat' instead of ':repeat'");
    if (name_equals(field, "name") || name_equals(field, "waitfor"))
        return parse_fail(parser, field.at,
                          "'%.*s' belongs to the chain: write ',%.*s:ID' instead of ':'",
                          (int)field.length, field.at, (int)field.length, field.at);
    if (name_find(field, event_names) >= 0)
        return parse_fail(parser, field.at,
                          "'%.*s' begins another alarm: write ',' before it instead of ':'",
                          (int)field.length, field.at);
    if (alarm->type == CTL_INTERACTIVE || alarm->type == CTL_INT3)
        return parse_fail(parser, field.at,
                          "%s takes no value; unknown token '%.*s'; legal here: %s",
                          type_names[alarm->type], (int)field.length, field.at, legal);
    struct span word = field;
    while (word.length > 0 && word.at[word.length - 1] >= '0' && word.at[word.length - 1] <= '9')
        word.length--;
    const char *nearest = name_nearest(word, token_names);
    return parse_fail(parser, field.at, "unknown token '%.*s'%s%s%s; legal here: %s%s",
                      (int)field.length, field.at, nearest != NULL ? ", did you mean '" : "",
                      nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "", legal, hint);
}

static int parse_token(struct parser *parser, struct span field, struct ctl_alarm *alarm,
                       struct tokens *seen)
{
    bool uniform = alarm->type == CTL_UNIFORM;
    struct span rest;
    int status;
    if (has_prefix(field, "tid", &rest)) {
        status = token_once(parser, field, "tid", &seen->tid);
        return status != 0 ? status : parse_tid(parser, rest, alarm);
    }
    if (has_prefix(field, "ranks", &rest)) {
        status = token_once(parser, field, "ranks", &seen->ranks);
        return status != 0 ? status : parse_ranks(parser, rest, alarm);
    }
    if (!uniform && has_prefix(field, "count", &rest)) {
        status = token_once(parser, field, "count", &seen->count);
        return status != 0 ? status : parse_count(parser, rest, alarm);
    }
    if (!uniform && name_equals(field, "bcast")) {
        alarm->bcast = true;
        return token_once(parser, field, "bcast", &seen->bcast);
    }
    if (!uniform && name_equals(field, "global")) {
        alarm->global = true;
        return token_once(parser, field, "global", &seen->global);
    }
    if (!uniform && name_equals(field, "exact")) {
        alarm->exact = true;
        return token_once(parser, field, "exact", &seen->exact);
    }
    return unknown_token(parser, field, alarm);
}

static int check_tokens(struct parser *parser, const struct piece *piece, struct ctl_alarm *alarm,
                        const struct tokens *seen)
{
    const char *type = ctl_type_name((enum ctl_type)alarm->type);
    if (seen->tid != NULL && seen->global != NULL)
        return parse_fail(parser, seen->tid > seen->global ? seen->tid : seen->global,
                          "'tid' and 'global' exclude each other: global counts in all threads");
    if (seen->global != NULL && (alarm->type == CTL_TIMEOUT || alarm->type == CTL_INTERACTIVE))
        return parse_fail(parser, seen->global, "'global' has no meaning for %s; write 'bcast'",
                          type);
    if (seen->global != NULL && alarm->type != CTL_ICOUNT && seen->count == NULL)
        return parse_fail(parser, seen->global,
                          "'global' on %s needs a count, as in ':count100:global'", type);
    if (seen->exact != NULL && alarm->type != CTL_ICOUNT)
        return parse_fail(parser, seen->exact,
                          "'exact' applies to icount alone; %s is exact anyway or cannot be", type);
    if (seen->exact != NULL && seen->global != NULL)
        return parse_fail(parser, seen->exact,
                          "'exact' and 'global' exclude each other: threads run at the same time");
    bool distance = alarm->type == CTL_ICOUNT || alarm->type == CTL_TIMEOUT;
    if (distance && __builtin_mul_overflow(alarm->number, alarm->count, &alarm->distance))
        return parse_fail(parser, piece->fields[2].at,
                          "the value of %s times count does not fit 64 bits", type);
    return 0;
}

int parse_tokens(struct parser *parser, const struct piece *piece, unsigned next,
                 struct ctl_alarm *alarm)
{
    struct tokens seen = {0};
    if (alarm->type == CTL_INT3 && alarm->count != 1)
        seen.count = piece->fields[2].at; /* int3:N already is a count */
    for (; next < piece->count; next++) {
        int status = parse_token(parser, piece->fields[next], alarm, &seen);
        if (status != 0)
            return status;
    }
    return check_tokens(parser, piece, alarm, &seen);
}
