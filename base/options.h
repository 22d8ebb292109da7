/* SPDX-License-Identifier: BSD-3-Clause
 * Every option and REGTRACE_ variable, from one table (options.def). */
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

/* Least -max-size: an empty file has some 100 KiB, and HDF5's chunk of compressed events a few. */
#define OPTION_MAX_SIZE_LEAST (128u << 10)

/* What the number of a FUNCTIONS kind says. */
enum { OPTION_FUNCTIONS_NONE, OPTION_FUNCTIONS_COMPILED, OPTION_FUNCTIONS_NAMED };

/* Most patterns that -functions and -memory take, and bytes of one. Most -functions-depth. */
#define OPTION_PATTERNS_MAX 8u
#define OPTION_PATTERN_ROOM 1000u
#define OPTION_FUNCTIONS_DEPTH_MAX 256u

/* One pattern of a FUNCTIONS or PATTERNS option, REGEX or REGEX@IMAGE, which `;` parts; regex and image have OPTION_PATTERN_ROOM bytes, the latter empty where
 * the program itself is meant. Returns what is behind it, NULL: there was none; -E2BIG in *rc: too long. */
const char *option_pattern(const char *text, char *regex, char *image, int *rc);

/* Most -sample-depth. */
#define OPTION_SAMPLE_DEPTH_MAX 64u

struct option_row {
    const char *field;    /* C name */
    const char *option;   /* of `regtrace run`, without dashes; - and _ are the same */
    const char *variable; /* REGTRACE_... */
    enum option_kind kind;
    const char *default_value; /* "" = not set */
    const char *values;        /* for --help */
    const char *help;
};

/* Ends with a NULL field. */
extern const struct option_row option_table[];

enum option_index {
#define X(field, option, variable, kind, def, values, help) OPT_##field,
#include "base/options.def"
#undef X
    OPTION_COUNT
};

/* Values as read: text points into the environment or to the default, never NULL ("" = not set);
 * number holds FLAG, SIZE, NUMBER and FUNCTIONS kinds. */
struct options {
    const char *text[OPTION_COUNT];
    uint64_t number[OPTION_COUNT];
};

/* Read all variables from `environ`-like envp. -EINVAL with the variable, the value found and what is legal;
 * an unknown REGTRACE_ variable is reported through unknown(ctx, name, nearest) (NULL allowed), no error. */
RT_MUST_CHECK int options_read(struct options *o, char *const *envp, struct rt_error *e,
                               void (*unknown)(void *ctx, const char *name, const char *nearest),
                               void *ctx);

/* Check one value as options_read() would. */
RT_MUST_CHECK int option_check(const struct option_row *row, const char *value, uint64_t *number,
                               struct rt_error *e);

/* Does a program of this base name match the value of -include or -exclude? 1 or 0; -ENOMEM (the expression itself has been
 * checked by option_check). Not for handlers. */
RT_MUST_CHECK int option_matches(const char *pattern, const char *name);

/* Row by option name (dashes stripped by the caller; - and _ alike), NULL if unknown. */
const struct option_row *option_find(const char *name);

/* Nearest legal option name, for error texts; never NULL. */
const char *option_nearest(const char *name);

#endif
