/* SPDX-License-Identifier: BSD-3-Clause
 * All options and REGTRACE_ variables, from one table (options.def). */
#ifndef REGTRACE_BASE_OPTIONS_H
#define REGTRACE_BASE_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum option_kind {
    OPTION_TEXT,
    OPTION_FLAG,
    OPTION_SIZE,
    OPTION_NUMBER,
    OPTION_LIST,
    OPTION_LEGACY,
    OPTION_FUNCTIONS,
    OPTION_PATTERNS
};

/* The least -max-size: an empty file takes about 100 KiB, and HDF5's chunk of compressed events a
 * few KiB. */
#define OPTION_MAX_SIZE_LEAST (128u << 10)

/* Values of options.number for the kind FUNCTIONS. */
enum { OPTION_FUNCTIONS_NONE, OPTION_FUNCTIONS_COMPILED, OPTION_FUNCTIONS_NAMED };

/* Limits: patterns of -functions and -memory, bytes of one pattern, and -functions-depth. */
#define OPTION_PATTERNS_MAX 8u
#define OPTION_PATTERN_ROOM 1000u
#define OPTION_FUNCTIONS_DEPTH_MAX 256u

/* Reads one pattern of a FUNCTIONS or PATTERNS option: REGEX or REGEX@IMAGE; `;` separates
 * patterns. `regex` and `image` have OPTION_PATTERN_ROOM bytes each; `image` is "" if the pattern
 * is for the program itself. Returns the text after the pattern, or NULL if there is no further
 * pattern or if it is too long (*rc is then -E2BIG, else 0). */
const char *option_pattern(const char *text, char *regex, char *image, int *rc);

/* Greatest -sample-depth. */
#define OPTION_SAMPLE_DEPTH_MAX 64u

/* Greatest -callpath. */
#define OPTION_CALLPATH_MAX 64u

struct option_row {
    const char *field;    /* name in C */
    const char *option;   /* for `regtrace run`, without dashes; - and _ are equal */
    const char *variable; /* REGTRACE_... */
    enum option_kind kind;
    const char *default_value; /* "" = not set */
    const char *values;        /* for --help */
    const char *help;
};

/* The last row has the field NULL. */
extern const struct option_row option_table[];

enum option_index {
#define X(field, option, variable, kind, def, values, help) OPT_##field,
#include "base/options.def"
#undef X
    OPTION_COUNT
};

/* Values of all options. A text points into the environment or to the default; it is never NULL,
 * and "" means "not set". `number` holds the kinds FLAG, SIZE, NUMBER and FUNCTIONS. */
struct options {
    const char *text[OPTION_COUNT];
    uint64_t number[OPTION_COUNT];
};

/* Reads all REGTRACE_ variables of `envp`. Returns 0, or a negative errno (-EINVAL, -ERANGE) with a
 * text that names the variable, its value and the legal values. Reports an unknown REGTRACE_
 * variable through unknown(ctx, name, nearest), which may be NULL; that is no error. */
RT_MUST_CHECK int options_read(struct options *o, char *const *envp, struct rt_error *e,
                               void (*unknown)(void *ctx, const char *name, const char *nearest),
                               void *ctx);

/* Checks one value as options_read() does. */
RT_MUST_CHECK int option_check(const struct option_row *row, const char *value, uint64_t *number,
                               struct rt_error *e);

/* Returns 1 if a program of this base name matches the value of -include or -exclude, 0 if not,
 * or -ENOMEM. (option_check() has checked the expression itself.) Do not call it from signal
 * handlers. */
RT_MUST_CHECK int option_matches(const char *pattern, const char *name);

/* Does REGTRACE_MODE ask for a profile? */
bool option_is_profile(const struct options *o);

/* Finds the row of an option, or returns NULL if there is none. The caller strips the dashes; - and
 * _ are equal. */
const struct option_row *option_find(const char *name);

/* Returns the most similar legal option name, for error messages; never NULL. */
const char *option_nearest(const char *name);

#endif
