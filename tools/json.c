/* SPDX-License-Identifier: BSD-3-Clause
 * JSON output: separators, escapes and the replacement of bytes that are not UTF-8. */
#include "tools/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Checks that the character is well-formed (Unicode table 3-7). */
size_t text_character(const unsigned char *p)
{
    size_t n = p[0] < 0x80                    ? 1
               : p[0] >= 0xc2 && p[0] <= 0xdf ? 2
               : p[0] >= 0xe0 && p[0] <= 0xef ? 3
               : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
                                              : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* XML forbids U+FFFE and U+FFFF. Cairo also rejects the last two code points of the other planes,
 * and U+FDD0 to U+FDEF. */
size_t text_drawable(const unsigned char *p)
{
    size_t n = text_character(p);
    uint32_t c = n == 3 ? (p[0] & 15u) << 12 : n == 4 ? (p[0] & 7u) << 18 | (p[1] & 63u) << 12 : 0;
    if (n >= 3)
        c |= (p[n - 2] & 63u) << 6 | (p[n - 1] & 63u);
    bool none = *p < ' ' || (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
    return none ? 0 : n;
}

void text_write_plain(FILE *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != 0;) {
        size_t n = text_character(p);
        if (n == 0)
            (void)fprintf(out, "\\x%02x", *p);
        else if (*p == '\n')
            (void)fputs("\\n", out);
        else if (*p < 0x20 || *p == 0x7f)
            (void)fprintf(out, "\\x%02x", *p);
        else
            (void)fwrite(p, 1, n, out);
        p += n > 0 ? n : 1;
    }
}

void text_write_markup(FILE *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0';) {
        size_t n = text_drawable(p);
        if (*p == '<')
            (void)fputs("&lt;", out);
        else if (*p == '>') /* XML forbids ]]> in text */
            (void)fputs("&gt;", out);
        else if (*p == '&')
            (void)fputs("&amp;", out);
        else if (n == 0)
            (void)fputc('?', out);
        else
            (void)fwrite(p, 1, n, out);
        p += n > 0 ? n : 1;
    }
}

/* Returns how many ASCII characters from p on need no escape: fast path, since most texts consist
 * of them. */
static size_t plain_length(const unsigned char *p)
{
    size_t n = 0;
    while (p[n] >= 0x20 && p[n] < 0x7f && p[n] != '"' && p[n] != '\\' && p[n] != '<')
        n++;
    return n;
}

static void write_text(const struct json *j, const char *text)
{
    FILE *out = j->out;
    (void)fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p != 0;) {
        size_t n = plain_length(p);
        if (n > 0) {
            (void)fwrite(p, 1, n, out);
            p += n;
            continue;
        }
        n = text_character(p);
        if (n == 0) {
            (void)fputs("\\ufffd", out);
            p++;
            continue;
        }
        if (*p == '"' || *p == '\\')
            (void)fprintf(out, "\\%c", *p);
        else if (*p == '\n')
            (void)fputs("\\n", out);
        else if (*p == '\t')
            (void)fputs("\\t", out);
        else if (*p < 0x20 || *p == 0x7f || (*p == '<' && j->in_html))
            (void)fprintf(out, "\\u%04x", *p);
        else
            (void)fwrite(p, 1, n, out);
        p += n;
    }
    (void)fputc('"', out);
}

static bool in_line(const struct json *j)
{
    return !j->indented || (j->depth > 0 && j->compact[j->depth]);
}

static void new_line(struct json *j)
{
    if (in_line(j))
        return;
    (void)fputc('\n', j->out);
    for (unsigned i = 0; i < j->depth; i++)
        (void)fputs("  ", j->out);
}

static void member(struct json *j, const char *key)
{
    if (j->used[j->depth])
        (void)fputs(in_line(j) ? ", " : ",", j->out);
    if (j->depth > 0)
        new_line(j);
    j->used[j->depth] = true;
    if (key != NULL) {
        write_text(j, key);
        (void)fputs(": ", j->out);
    }
}

static void level_begin(struct json *j, const char *key, char bracket)
{
    member(j, key);
    (void)fputc(bracket, j->out);
    bool compact = j->compact[j->depth];
    if (j->depth + 1 < JSON_DEPTH)
        j->depth++;
    j->used[j->depth] = false;
    j->compact[j->depth] = compact;
}

static void level_end(struct json *j, char bracket)
{
    bool compact = j->compact[j->depth], used = j->used[j->depth];
    if (j->depth > 0)
        j->depth--;
    if (used && !compact)
        new_line(j);
    (void)fputc(bracket, j->out);
    if (j->depth == 0) {
        (void)fputc('\n', j->out);
        j->used[0] = false;
    }
}

void json_object_begin(struct json *j, const char *key)
{
    level_begin(j, key, '{');
}
void json_object_end(struct json *j)
{
    level_end(j, '}');
}
void json_array_begin(struct json *j, const char *key)
{
    level_begin(j, key, '[');
}
void json_array_end(struct json *j)
{
    level_end(j, ']');
}
void json_compact(struct json *j)
{
    j->compact[j->depth] = true;
}

void json_text(struct json *j, const char *key, const char *text)
{
    if (text == NULL) {
        json_null(j, key);
        return;
    }
    member(j, key);
    write_text(j, text);
}
void json_int(struct json *j, const char *key, int64_t value)
{
    member(j, key);
    (void)fprintf(j->out, "%" PRId64, value);
}
void json_uint(struct json *j, const char *key, uint64_t value)
{
    member(j, key);
    (void)fprintf(j->out, "%" PRIu64, value);
}
void json_real(struct json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    member(j, key);
    (void)fprintf(j->out, "%.17g", value);
}
void json_micros(struct json *j, const char *key, int64_t ns)
{
    member(j, key);
    (void)fprintf(j->out, "%" PRId64 ".%03" PRId64, ns / 1000, ns % 1000);
}
void json_bool(struct json *j, const char *key, bool value)
{
    member(j, key);
    (void)fputs(value ? "true" : "false", j->out);
}
void json_null(struct json *j, const char *key)
{
    member(j, key);
    (void)fputs("null", j->out);
}
void json_hex(struct json *j, const char *key, uint64_t value)
{
    member(j, key);
    (void)fprintf(j->out, "\"0x%" PRIx64 "\"", value);
}

void json_uint_if(struct json *j, const char *key, bool known, uint64_t value)
{
    if (known)
        json_uint(j, key, value);
    else
        json_null(j, key);
}

void json_int_if(struct json *j, const char *key, bool known, int64_t value)
{
    if (known)
        json_int(j, key, value);
    else
        json_null(j, key);
}
