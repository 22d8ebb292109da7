/* SPDX-License-Identifier: BSD-3-Clause
 * Parses spans of windows for -window: an ordinal, or the first and the last. */
#include "tools/tools.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int ordinal_parse(const char *text, size_t n, int32_t least, int32_t *out)
{
    char copy[24];
    uint64_t value;
    if (n == 0 || n >= sizeof copy)
        return -EINVAL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (argument_number(copy, (uint64_t)least, INT32_MAX, &value) != 0)
        return -EINVAL;
    *out = (int32_t)value;
    return 0;
}

int window_span_parse(struct window_span *s, const char *text, struct rt_error *e)
{
    const char *dash = strchr(text, '-');
    struct window_span span = {.given = true};
    int rc =
        ordinal_parse(text, dash != NULL ? (size_t)(dash - text) : strlen(text), 0, &span.first);
    span.last = span.first;
    if (rc == 0 && dash != NULL)
        rc = ordinal_parse(dash + 1, strlen(dash + 1), span.first, &span.last);
    if (rc != 0) {
        rt_error_set(e,
                     "\"%s\" is no span of windows: an ordinal (from 0) or N-M, N not after M, is "
                     "legal, for example 4 or 4-9",
                     text);
        return rc;
    }
    *s = span;
    return 0;
}

bool window_span_has(const struct window_span *s, int32_t ordinal)
{
    return !s->given || (ordinal >= s->first && ordinal <= s->last);
}

const char *window_span_text(char out[48], const struct window_span *s)
{
    if (!s->given)
        (void)snprintf(out, 48, "all windows");
    else if (s->first == s->last)
        (void)snprintf(out, 48, "window %" PRId32, s->first);
    else
        (void)snprintf(out, 48, "windows %" PRId32 " to %" PRId32, s->first, s->last);
    return out;
}
