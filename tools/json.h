/* SPDX-License-Identifier: BSD-3-Clause
 * JSON output (RFC 8259): a small writer that cannot produce ill-formed text. */
#ifndef REGTRACE_TOOLS_JSON_H
#define REGTRACE_TOOLS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 16

/* Zeroed but for `out` and `indented` before use. Numbers are written whole, 64 bits wide. */
struct json {
    FILE *out;
    bool indented; /* one member a line; else everything in one line */
    unsigned depth;
    bool used[JSON_DEPTH];    /* a member stands before at this depth */
    bool compact[JSON_DEPTH]; /* members of this level stay in one line */
};

/* key: the member's name, NULL inside arrays and at the top. */
void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_compact(struct json *j); /* the object or array begun last: all in one line */

/* Length of the character of UTF-8 at p (not its end), 0 if there is none. */
size_t text_character(const unsigned char *p);

/* As text_character(), but also 0 for characters that pictures cannot contain: control characters
 * and Unicode's noncharacters. */
size_t text_drawable(const unsigned char *p);

/* For people, without quotes: control characters and bytes that are not UTF-8 as \n and \xNN, so that a text stays in its line. */
void text_write_plain(FILE *out, const char *text);

/* Bytes that are not UTF-8 become U+FFFD; text NULL writes null. */
void json_text(struct json *j, const char *key, const char *text);
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_real(struct json *j, const char *key, double value); /* not finite: null */
/* ns, from 0 on, as microseconds: 1.234 */
void json_micros(struct json *j, const char *key, int64_t ns);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_hex(struct json *j, const char *key, uint64_t value); /* "0x..." as a text */

/* value, or null where !known. */
void json_uint_if(struct json *j, const char *key, bool known, uint64_t value);

#endif
