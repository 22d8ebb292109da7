/* SPDX-License-Identifier: BSD-3-Clause
 * Reads and checks the REGTRACE_ variables according to the table of options. */
#include "base/options.h"

#include "base/format/value_protocol.h"
#include "base/names/distance.h"

#include <errno.h>
#include <regex.h>
#include <stddef.h>
#include <string.h>

const struct option_row option_table[] = {
#define X(field, option, variable, kind, def, values, help)                                        \
    {#field, option, variable, OPTION_##kind, def, values, help},
#include "base/options.def"
#undef X
    {NULL, NULL, NULL, OPTION_TEXT, NULL, NULL, NULL},
};

static bool same_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

const struct option_row *option_find(const char *name)
{
    for (const struct option_row *r = option_table; r->field != NULL; r++)
        if (same_name(r->option, name))
            return r;
    return NULL;
}

static const struct option_row *nearest(const char *name, bool by_variable)
{
    const struct option_row *best = option_table;
    unsigned least = ~0u;
    for (const struct option_row *r = option_table; r->field != NULL; r++) {
        unsigned d = text_distance(name, by_variable ? r->variable : r->option);
        if (d < least) {
            least = d;
            best = r;
        }
    }
    return best;
}

const char *option_nearest(const char *name)
{
    return nearest(name, false)->option;
}

/* Parses digits with an optional K, M or G (powers of 1024). The number must fill the whole
 * text. */
static int parse_number(const char *text, bool suffix, uint64_t *out)
{
    uint64_t v = 0;
    const char *p = text;
    if (*p < '0' || *p > '9')
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return -ERANGE;
    if (suffix && *p != '\0' && p[1] == '\0') {
        unsigned shift = *p == 'K' || *p == 'k'   ? 10
                         : *p == 'M' || *p == 'm' ? 20
                         : *p == 'G' || *p == 'g' ? 30
                                                  : 0;
        if (shift == 0 || v > UINT64_MAX >> shift)
            return -EINVAL;
        v <<= shift;
        p++;
    }
    *out = v;
    return *p == '\0' ? 0 : -EINVAL;
}

/* Returns true if `choices`, as in "a|b|c", contains the whole word `value`. */
static bool is_choice(const char *choices, const char *value)
{
    size_t n = strlen(value);
    for (const char *p = choices; p != NULL; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, value, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    }
    return false;
}

static int check_regex(const struct option_row *row, const char *value, struct rt_error *e)
{
    regex_t re;
    char why[128];
    int rc = regcomp(&re, value, REG_EXTENDED | REG_NOSUB);
    if (rc == 0) {
        regfree(&re);
        return 0;
    }
    (void)regerror(rc, &re, why, sizeof why);
    rt_error_set(e, "%s (option -%s) is \"%s\", which is no extended regular expression: %s",
                 row->variable, row->option, value, why);
    return -EINVAL;
}

const char *option_pattern(const char *text, char *regex, char *image, int *rc)
{
    text += strspn(text, ";");
    size_t n = strcspn(text, ";");
    const char *at = n != 0 ? memrchr(text, '@', n) : NULL;
    size_t name = at != NULL ? n - (size_t)(at + 1 - text) : 0;
    *rc = 0;
    if (n == 0)
        return NULL;
    if (n >= OPTION_PATTERN_ROOM) {
        *rc = -E2BIG;
        return NULL;
    }
    n = at != NULL ? (size_t)(at - text) : n;
    memcpy(regex, text, n);
    regex[n] = '\0';
    memcpy(image, text + n + (at != NULL), name);
    image[name] = '\0';
    return text + n + (at != NULL) + name;
}

static int check_patterns(const struct option_row *row, const char *value, struct rt_error *e)
{
    char regex[OPTION_PATTERN_ROOM], image[OPTION_PATTERN_ROOM];
    const char *rest = value;
    unsigned n = 0;
    int rc = 0;
    for (; rc == 0 && (rest = option_pattern(rest, regex, image, &rc)) != NULL; n++)
        rc = regex[0] != '\0' ? check_regex(row, regex, e) : -EILSEQ;
    if (rc == -EINVAL)
        return rc;
    if (rc == 0 && n > 0 && n <= OPTION_PATTERNS_MAX)
        return 0;
    rt_error_set(
        e, "%s (option -%s) is \"%s\": legal is %s, up to %u patterns of less than %u bytes",
        row->variable, row->option, value, row->values, OPTION_PATTERNS_MAX, OPTION_PATTERN_ROOM);
    return -EINVAL;
}

/* Accepts 0, 1 or patterns. */
static int check_functions(const struct option_row *row, const char *value, uint64_t *number,
                           struct rt_error *e)
{
    *number = OPTION_FUNCTIONS_NAMED;
    if (value[0] == '\0' || strcmp(value, "0") == 0)
        *number = OPTION_FUNCTIONS_NONE;
    else if (strcmp(value, "1") == 0)
        *number = OPTION_FUNCTIONS_COMPILED;
    return *number != OPTION_FUNCTIONS_NAMED ? 0 : check_patterns(row, value, e);
}

int option_matches(const char *pattern, const char *name)
{
    regex_t re;
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return -ENOMEM;
    int rc = regexec(&re, name, 0, NULL, 0);
    regfree(&re);
    return rc == 0;
}

static bool is_field(const struct option_row *row, const char *field)
{
    return strcmp(row->field, field) == 0;
}

static int check_number(const struct option_row *row, const char *value, uint64_t *number,
                        struct rt_error *e)
{
    int rc = parse_number(value, row->kind == OPTION_SIZE, number);
    if (rc == 0 && is_field(row, "compress") && *number > 9)
        rc = -EINVAL;
    if (rc == 0 && is_field(row, "max_size") && *number != 0 && *number < OPTION_MAX_SIZE_LEAST) {
        rt_error_set(e,
                     "%s (option -%s) is \"%s\": 0 (no limit) or at least %uK is legal, since "
                     "a file has some 100K before its first thousand events",
                     row->variable, row->option, value, OPTION_MAX_SIZE_LEAST >> 10);
        return -EINVAL;
    }
    if (rc == 0 && is_field(row, "sample_depth") && *number > OPTION_SAMPLE_DEPTH_MAX) {
        rt_error_set(e, "%s (option -%s) is \"%s\": 0 to %u frames are legal", row->variable,
                     row->option, value, OPTION_SAMPLE_DEPTH_MAX);
        return -EINVAL;
    }
    if (rc == 0 && is_field(row, "callpath") && *number > OPTION_CALLPATH_MAX) {
        rt_error_set(e, "%s (option -%s) is \"%s\": 0 to %u callers are legal", row->variable,
                     row->option, value, OPTION_CALLPATH_MAX);
        return -EINVAL;
    }
    if (rc == 0 && is_field(row, "values_follow") &&
        (*number == 0 || *number > VALUES_FOLLOW_MOST)) {
        rt_error_set(e, "%s (option -%s) is \"%s\": 1 to %u instructions are legal", row->variable,
                     row->option, value, VALUES_FOLLOW_MOST);
        return -EINVAL;
    }
    if (rc == 0 && is_field(row, "functions_depth") &&
        (*number == 0 || *number > OPTION_FUNCTIONS_DEPTH_MAX)) {
        rt_error_set(e, "%s (option -%s) is \"%s\": 1 to %u levels are legal", row->variable,
                     row->option, value, OPTION_FUNCTIONS_DEPTH_MAX);
        return -EINVAL;
    }
    if (rc != 0)
        rt_error_set(e, "%s (option -%s) is \"%s\": legal is %s, a whole number%s", row->variable,
                     row->option, value, row->values,
                     row->kind == OPTION_SIZE ? " with an optional K, M or G" : "");
    return rc;
}

int option_check(const struct option_row *row, const char *value, uint64_t *number,
                 struct rt_error *e)
{
    int rc = 0;
    *number = 0;
    switch (row->kind) {
    case OPTION_FLAG:
        if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
            rt_error_set(e, "%s (option -%s) is \"%s\": 0 or 1 is legal", row->variable,
                         row->option, value);
            return -EINVAL;
        }
        *number = (uint64_t)(value[0] - '0');
        break;
    case OPTION_SIZE:
    case OPTION_NUMBER: rc = check_number(row, value, number, e); break;
    case OPTION_TEXT:
        if (strchr(row->values, '|') != NULL && value[0] != '\0' &&
            !is_choice(row->values, value)) {
            rt_error_set(e, "%s (option -%s) is \"%s\": legal is %s", row->variable, row->option,
                         value, row->values);
            rc = -EINVAL;
        }
        if (strcmp(row->values, "REGEX") == 0 && value[0] != '\0')
            rc = check_regex(row, value, e);
        break;
    case OPTION_FUNCTIONS: rc = check_functions(row, value, number, e); break;
    case OPTION_PATTERNS: rc = value[0] != '\0' ? check_patterns(row, value, e) : 0; break;
    case OPTION_LIST:
    case OPTION_LEGACY: break;
    }
    return rc;
}

bool option_is_profile(const struct options *o)
{
    return strcmp(o->text[OPT_mode], "profile") == 0;
}

/* Variables of regtrace that are no options: its processes set them for each other, or tests do. */
static bool is_internal(const char *name, size_t n)
{
    static const char *const internal[] = {
        "REGTRACE_PARENT", "REGTRACE_EVENT_CODES", "REGTRACE_BUILD",   "REGTRACE_BUILD_DIR",
        "REGTRACE_SOURCE", "REGTRACE_LEVEL",       "REGTRACE_LIBRARY", NULL};
    if (n > 14 && strncmp(name, "REGTRACE_TEST_", 14) == 0)
        return true;
    for (int i = 0; internal[i] != NULL; i++)
        if (strlen(internal[i]) == n && strncmp(name, internal[i], n) == 0)
            return true;
    return false;
}

static const struct option_row *row_of_variable(const char *name, size_t n)
{
    for (const struct option_row *r = option_table; r->field != NULL; r++)
        if (strncmp(r->variable, name, n) == 0 && r->variable[n] == '\0')
            return r;
    return NULL;
}

int options_read(struct options *o, char *const *envp, struct rt_error *e,
                 void (*unknown)(void *ctx, const char *name, const char *nearest_name), void *ctx)
{
    int rc;
    for (int i = 0; i < OPTION_COUNT; i++) {
        o->text[i] = option_table[i].default_value;
        o->number[i] = 0;
        if (o->text[i][0] != '\0' &&
            (rc = option_check(&option_table[i], o->text[i], &o->number[i], e)) != 0)
            return rc;
    }
    for (; envp != NULL && *envp != NULL; envp++) {
        const char *equals = strchr(*envp, '=');
        if (strncmp(*envp, "REGTRACE_", 9) != 0 || equals == NULL)
            continue;
        size_t n = (size_t)(equals - *envp);
        const struct option_row *r = row_of_variable(*envp, n);
        if (r == NULL) {
            char name[64];
            size_t m = n < sizeof name - 1 ? n : sizeof name - 1;
            memcpy(name, *envp, m);
            name[m] = '\0';
            if (unknown != NULL && !is_internal(*envp, n))
                unknown(ctx, name, nearest(name, true)->variable);
            continue;
        }
        if (equals[1] == '\0')
            continue; /* empty: use the default */
        rc = option_check(r, equals + 1, &o->number[r - option_table], e);
        if (rc != 0)
            return rc;
        o->text[r - option_table] = equals + 1;
    }
    return 0;
}
