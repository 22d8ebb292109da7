/* SPDX-License-Identifier: BSD-3-Clause
 * Parses requests: KIND or KIND:VALUE. */
#include "isa/plan/site.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum value { NONE, NAME, OPTIONAL_NAME, PLACE, NUMBER, HEX, BYTES, EXTENSION, CATEGORY, REGEX };

static const struct kind {
    const char *name;
    enum value value;
} kinds[] = {
    [REQUEST_ENTER] = {"enter", NAME},
    [REQUEST_RETS] = {"rets", NAME},
    [REQUEST_RETURNS] = {"returns", OPTIONAL_NAME},
    [REQUEST_EXITS] = {"exits", NAME},
    [REQUEST_SYMBOL] = {"symbol", PLACE},
    [REQUEST_ADDRESS] = {"address", NUMBER},
    [REQUEST_OFFSET] = {"offset", NUMBER},
    [REQUEST_SSC] = {"ssc", HEX},
    [REQUEST_INT3] = {"int3", NONE},
    [REQUEST_MAGIC] = {"magic", NONE},
    [REQUEST_CPUID] = {"cpuid", NONE},
    [REQUEST_ITEXT] = {"itext", BYTES},
    [REQUEST_EXTENSION] = {"isa_extension", EXTENSION},
    [REQUEST_CATEGORY] = {"isa_category", CATEGORY},
    [REQUEST_FUNCTIONS] = {"functions", REGEX},
    [REQUEST_STARTS] = {"starts", REGEX},
    [REQUEST_CALLERS] = {"callers", REGEX},
    [REQUEST_STUBS] = {"stubs", REGEX},
    [REQUEST_INLINED] = {"inlined", NAME},
};

static bool read_number(const char *text, int base, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, base);
    return isxdigit((unsigned char)text[0]) && *end == '\0' && errno == 0;
}

static bool read_bytes(struct request *q, const char *text)
{
    size_t n = strlen(text);
    if (n == 0 || n % 2 != 0 || n > 2 * sizeof q->bytes)
        return false;
    for (size_t i = 0; i < n; i += 2) {
        const char two[] = {text[i], text[i + 1], '\0'};
        uint64_t byte;
        if (!isxdigit((unsigned char)two[1]) || !read_number(two, 16, &byte))
            return false;
        q->bytes[q->byte_count++] = (uint8_t)byte;
    }
    return true;
}

static bool read_name(struct request *q, const char *text)
{
    if (strlen(text) >= sizeof q->name)
        return false;
    (void)snprintf(q->name, sizeof q->name, "%s", text);
    return true;
}

static bool read_regex(struct request *q, const char *text)
{
    q->has_regex = text[0] != '\0' && regcomp(&q->regex, text, REG_EXTENDED | REG_NOSUB) == 0;
    return q->has_regex && read_name(q, text);
}

/* Reads NAME or NAME+OFFSET. A name such as operator+ has a plus too. */
static bool read_place(struct request *q, const char *text)
{
    if (!read_name(q, text))
        return false;
    char *plus = strrchr(q->name, '+');
    if (plus != NULL && plus != q->name && read_number(plus + 1, 0, &q->number))
        *plus = '\0';
    return q->name[0] != '\0';
}

static bool read_meaning(struct request *q, const char *text, bool category)
{
    unsigned last = category ? ZYDIS_CATEGORY_MAX_VALUE : ZYDIS_ISA_EXT_MAX_VALUE;
    for (unsigned i = 0; i <= last; i++) {
        const char *name = category ? ZydisCategoryGetString((ZydisInstructionCategory)i)
                                    : ZydisISAExtGetString((ZydisISAExt)i);
        q->number = i;
        if (name != NULL && strcmp(name, text) == 0)
            return true;
    }
    return false;
}

static bool read_value(struct request *q, enum value value, const char *text)
{
    if (text == NULL)
        return value == NONE || value == OPTIONAL_NAME;
    switch (value) {
    case NONE: return false;
    case NAME: return text[0] != '\0' && read_name(q, text);
    case OPTIONAL_NAME: return read_name(q, text);
    case PLACE: return read_place(q, text);
    case NUMBER: return read_number(text, 0, &q->number);
    case HEX: return read_number(text, 16, &q->number) && q->number <= UINT32_MAX;
    case BYTES: return read_bytes(q, text);
    case EXTENSION:
    case CATEGORY: return read_meaning(q, text, value == CATEGORY);
    case REGEX: return read_regex(q, text);
    }
    return false;
}

void request_free(struct request *q)
{
    if (q->has_regex)
        regfree(&q->regex);
    memset(q, 0, sizeof *q);
}

int request_read(struct request *q, const char *text, struct rt_error *e)
{
    static const char *const wanted[] = {
        [NONE] = "no value",
        [NAME] = "a name",
        [OPTIONAL_NAME] = "a name or nothing",
        [PLACE] = "a name or name+offset",
        [NUMBER] = "a number",
        [HEX] = "a hexadecimal number of 32 bits",
        [BYTES] = "1 to 15 bytes in hexadecimal",
        [EXTENSION] = "an ISA extension of the decoder's, such as AVX2",
        [CATEGORY] = "a category of the decoder's, such as COND_BR",
        [REGEX] = "an extended regular expression",
    };
    const char *colon = strchr(text, ':');
    size_t n = colon != NULL ? (size_t)(colon - text) : strlen(text);
    request_free(q);
    q->text = text;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strlen(kinds[k].name) != n || strncmp(kinds[k].name, text, n) != 0)
            continue;
        q->kind = (enum request_kind)k;
        if (read_value(q, kinds[k].value, colon != NULL ? colon + 1 : NULL))
            return 0;
        rt_error_set(e, "request '%s': %s takes %s", text, kinds[k].name, wanted[kinds[k].value]);
        return -EINVAL;
    }
    rt_error_set(e, "request '%s': there is no such kind", text);
    return -EINVAL;
}
