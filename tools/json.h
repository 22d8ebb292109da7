/* SPDX-License-Identifier: BSD-3-Clause
 * Writes JSON (RFC 8259) that is always well-formed. */
#ifndef REGTRACE_TOOLS_JSON_H
#define REGTRACE_TOOLS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 16

/* Zero-initialize, and set `out` and `indented`, before use. Integers are written with all 64
 * bits. */
struct json {
    FILE *out;
    bool indented; /* one member per line; false: one line in all */
    /* '<' in texts becomes \u003c, so that no text ends the HTML element that holds the JSON. */
    bool in_html;
    unsigned depth;
    bool used[JSON_DEPTH];    /* a member precedes at this depth */
    bool compact[JSON_DEPTH]; /* members of this level stay on one line */
};

/* key: the member's name; NULL inside arrays and at the top level. */
void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
void json_array_end(struct json *j);
/* Keeps the object or array that began last on one line. */
void json_compact(struct json *j);

/* Returns the length of the UTF-8 character at p, or 0 if the bytes are not one. p must not be at
 * the end of the text. */
size_t text_character(const unsigned char *p);

/* Works like text_character(), but also returns 0 for characters that pictures cannot contain:
 * control characters and Unicode's noncharacters. */
size_t text_drawable(const unsigned char *p);

/* Writes text for people, without quotes. Control characters and bytes that are not UTF-8 become \n
 * or \xNN, so that the text stays on one line. */
void text_write_plain(FILE *out, const char *text);

/* Writes text between the tags of XML or HTML. Bytes that are not UTF-8, and characters that XML
 * forbids, become '?'. */
void text_write_markup(FILE *out, const char *text);

/* Bytes that are not UTF-8 become U+FFFD; text NULL writes null. */
void json_text(struct json *j, const char *key, const char *text);
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_real(struct json *j, const char *key, double value); /* not finite: null */
/* Writes nanoseconds, at least 0, as microseconds: 1.234. */
void json_micros(struct json *j, const char *key, int64_t ns);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_hex(struct json *j, const char *key, uint64_t value); /* "0x...", as a text */

/* Writes `value`, or null if !known. */
void json_uint_if(struct json *j, const char *key, bool known, uint64_t value);
void json_int_if(struct json *j, const char *key, bool known, int64_t value);

#endif
