/* SPDX-License-Identifier: BSD-3-Clause
 * Parses lists of ranks, such as "0-3,8", for options. */
#include "tools/tools.h"

#include <errno.h>
#include <stdlib.h>

static int list_wrong(const char *text, const char *at, const char *why, struct rt_error *e)
{
    rt_error_set(e, "\"%s\" is no list of ranks: %s at column %d; legal is for example 0-3,8", text,
                 why, (int)(at - text) + 1);
    return -EINVAL;
}

static const char *read_rank(const char *p, int32_t *out)
{
    if (*p < '0' || *p > '9')
        return NULL;
    char *end;
    errno = 0;
    long v = strtol(p, &end, 10);
    if (errno != 0 || v > INT32_MAX)
        return NULL;
    *out = (int32_t)v;
    return end;
}

int rank_list_parse(struct rank_list *l, const char *text, struct rt_error *e)
{
    *l = (struct rank_list){0};
    for (const char *p = text;;) {
        int32_t first, last;
        const char *end = read_rank(p, &first);
        if (end == NULL)
            return list_wrong(text, p, "a rank (a number from 0) was expected", e);
        last = first;
        if (*end == '-') {
            p = end + 1;
            end = read_rank(p, &last);
            if (end == NULL)
                return list_wrong(text, p, "the last rank of a span was expected", e);
            if (last < first)
                return list_wrong(text, p, "a span ends before it begins", e);
        }
        if (l->count == RANK_LIST_SPANS)
            return list_wrong(text, p, "more than 64 pieces", e);
        l->spans[l->count].first = first;
        l->spans[l->count++].last = last;
        if (*end == '\0')
            return 0;
        if (*end != ',' && *end != '+')
            return list_wrong(text, end, "\",\", \"+\" or the end was expected", e);
        p = end + 1;
    }
}

bool rank_list_has(const struct rank_list *l, int32_t rank)
{
    for (unsigned i = 0; i < l->count; i++)
        if (rank >= l->spans[i].first && rank <= l->spans[i].last)
            return true;
    return l->count == 0;
}
