/* SPDX-License-Identifier: BSD-3-Clause
 * Names of the control language: compares them, and finds the nearest name to a wrong one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "controller/language/language.h"

const char *const event_names[] = {
#define CONTROL_EVENT(name, value, text) [name] = (text),
#include "base/format/enums.def"
    [CTL_EVENT_COUNT] = NULL,
};

const char *const type_names[] = {
    [CTL_ICOUNT] = "icount",
    [CTL_ADDRESS] = "address",
    [CTL_SSC] = "ssc",
    [CTL_ITEXT] = "itext",
    [CTL_ISA_EXTENSION] = "isa_extension",
    [CTL_ISA_CATEGORY] = "isa_category",
    [CTL_INT3] = "int3",
    [CTL_MAGIC] = "magic",
    [CTL_CPUID] = "cpuid",
    [CTL_PCONTROL] = "pcontrol",
    [CTL_ENTER_FUNC] = "enter_func",
    [CTL_EXIT_FUNC] = "exit_func",
    [CTL_INTERACTIVE] = "interactive",
    [CTL_TIMEOUT] = "timeout",
    [CTL_SIGNAL] = "signal",
    [CTL_IMAGE_LOAD] = "image_load",
    [CTL_UNIFORM] = NULL,
};

const char *ctl_event_name(enum ctl_event event)
{
    return (unsigned)event < CTL_EVENT_COUNT ? event_names[event] : NULL;
}

const char *ctl_type_name(enum ctl_type type)
{
    if (type == CTL_UNIFORM)
        return "uniform";
    return (unsigned)type < CTL_UNIFORM ? type_names[type] : NULL;
}

/* Returns the next character, with all dashes as '-'; 0 at the end. */
static int folded_next(struct span *text)
{
    if (text->length == 0)
        return 0;
    unsigned char c = (unsigned char)*text->at;
    size_t used = 1;
    if (text->length >= 3 && memcmp(text->at, "\xe2\x80\x93", 3) == 0) {
        c = '-';
        used = 3;
    } else if (c == '_') {
        c = '-';
    }
    text->at += used;
    text->length -= used;
    return c;
}

bool name_equals(struct span found, const char *name)
{
    struct span wanted = {name, strlen(name)};
    for (;;) {
        int a = folded_next(&found);
        int b = folded_next(&wanted);
        if (a != b)
            return false;
        if (a == 0)
            return found.length == 0 && wanted.length == 0;
    }
}

int name_find(struct span found, const char *const *table)
{
    for (int i = 0; table[i] != NULL; i++) {
        if (name_equals(found, table[i]))
            return i;
    }
    return -1;
}

#define DISTANCE_MAX 64

static unsigned fold_all(struct span text, char *out)
{
    unsigned length = 0;
    int c;
    while (length < DISTANCE_MAX && (c = folded_next(&text)) != 0)
        out[length++] = (char)tolower(c);
    return length;
}

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

unsigned name_distance(struct span found, const char *name)
{
    char a[DISTANCE_MAX], b[DISTANCE_MAX];
    unsigned rows[3][DISTANCE_MAX + 1];
    unsigned a_length = fold_all(found, a);
    unsigned b_length = fold_all((struct span){name, strlen(name)}, b);
    for (unsigned j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *above = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            unsigned cost = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = smallest(up[j] + 1, row[j - 1] + 1, up[j - 1] + cost);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && above[j - 2] + 1 < row[j])
                row[j] = above[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *name_nearest(struct span found, const char *const *table)
{
    const char *nearest = NULL;
    unsigned best = UINT32_MAX;
    for (size_t i = 0; table[i] != NULL; i++) {
        unsigned distance = name_distance(found, table[i]);
        if (distance < best) {
            best = distance;
            nearest = table[i];
        }
    }
    /* A name with half of its letters wrong is no longer a slip. */
    size_t length = found.length < DISTANCE_MAX ? found.length : DISTANCE_MAX;
    return best <= 1 || best * 2 <= length ? nearest : NULL;
}

void names_join(char *out, size_t size, const char *const *table)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; table[i] != NULL && used < size; i++) {
        int n = snprintf(out + used, size - used, "%s%s", i != 0 ? ", " : "", table[i]);
        if (n < 0)
            return;
        used += (size_t)n;
    }
}

static const struct {
    const char *name;
    int number;
} signals[] = {
    /* Numbers of x86-64 and aarch64 Linux (asm-generic/signal.h), which the kernel's ABI fixes. */
    {"HUP", 1},   {"INT", 2},   {"QUIT", 3},  {"ILL", 4},     {"TRAP", 5},    {"ABRT", 6},
    {"IOT", 6},   {"BUS", 7},   {"FPE", 8},   {"KILL", 9},    {"USR1", 10},   {"SEGV", 11},
    {"USR2", 12}, {"PIPE", 13}, {"ALRM", 14}, {"TERM", 15},   {"STKFLT", 16}, {"CHLD", 17},
    {"CLD", 17},  {"CONT", 18}, {"STOP", 19}, {"TSTP", 20},   {"TTIN", 21},   {"TTOU", 22},
    {"URG", 23},  {"XCPU", 24}, {"XFSZ", 25}, {"VTALRM", 26}, {"PROF", 27},   {"WINCH", 28},
    {"IO", 29},   {"POLL", 29}, {"PWR", 30},  {"SYS", 31},
};

/* Returns the number of RTMIN+n or RTMAX-n as programs see it with glibc, which reserves 32 and
 * 33. */
static int realtime_number(struct span name)
{
    bool from_least = name.length >= 5 && memcmp(name.at, "RTMIN", 5) == 0;
    bool from_most = name.length >= 5 && memcmp(name.at, "RTMAX", 5) == 0;
    if (!from_least && !from_most)
        return 0;
    int base = from_least ? 34 : 64;
    if (name.length == 5)
        return base;
    uint64_t offset;
    const char *bad;
    struct span rest = {name.at + 6, name.length - 6};
    if (name.at[5] != (from_least ? '+' : '-') || number_parse(rest, &offset, &bad) != NUMBER_OK ||
        offset > 30)
        return 0;
    return from_least ? base + (int)offset : base - (int)offset;
}

int signal_number(struct span name)
{
    if (name.length > 3 && memcmp(name.at, "SIG", 3) == 0) {
        name.at += 3;
        name.length -= 3;
    }
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (strlen(signals[i].name) == name.length &&
            memcmp(signals[i].name, name.at, name.length) == 0)
            return signals[i].number;
    }
    return realtime_number(name);
}
