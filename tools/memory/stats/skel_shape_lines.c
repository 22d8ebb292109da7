/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the loops and accesses of a function from the text of a skeleton (skel_shape_lines.h). */
#include "tools/memory/stats/skel_shape_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape_reader {
    bool (*take)(void *context, char *line);
    void *context;
    /* Tables of older skeletons, in C: numbers of loops and places, and their texts. */
    const char *loops, *places, *counters, *accesses;
};

__attribute__((format(printf, 2, 3))) static bool pass(const struct shape_reader *r,
                                                       const char *format, ...)
{
    char *line = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&line, format, args);
    va_end(args);
    bool good = n >= 0 && r->take(r->context, line);
    if (n >= 0)
        free(line);
    return good;
}

static const char *after(const char *line, const char *with)
{
    size_t n = strlen(with);
    return strncmp(line, with, n) == 0 ? line + n : NULL;
}

/* Reads `count` numbers that commas separate. Returns false if there are fewer. Not sscanf(): it
 * looks for the end of the whole text. */
static bool take_numbers(const char **at, uint64_t *out, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        char *end;
        const char *from = *at + strspn(*at, " ,");
        out[k] = strtoull(from, &end, 0);
        if (end == from)
            return false;
        *at = end;
    }
    return true;
}

/* Takes NUMBER, ADDRESS, "NAME", IMAGE). */
static bool take_entry(const struct shape_reader *r, const char *line, const char *end)
{
    uint64_t numbers[2], image = 0;
    const char *name = line, *last = end;
    while (last > line && *last != '"')
        last--;
    const char *after_name = last + 1;
    if (!take_numbers(&name, numbers, 2) || (name = after(name, ", \"")) == NULL || last < name ||
        !take_numbers(&after_name, &image, 1))
        return pass(r, "%.*s", (int)(end - line), line);
    return pass(r, "function %" PRIx64 " %" PRIx64 " %.*s", image, numbers[1], (int)(last - name),
                name);
}

/* --- tables of older skeletons ---------------------------------------------------------------- */

/* Returns the next text of a list like {"I", "J"}, *bytes long, or "" after the last. */
static const char *next_text(const char **list, int *bytes)
{
    const char *from = *list != NULL ? strpbrk(*list, "\"}") : NULL;
    *bytes = 0;
    if (from == NULL || *from != '"')
        return "";
    const char *end = strchr(++from, '"');
    if (end == NULL)
        return "";
    *bytes = (int)(end - from);
    *list = end + 1;
    return from;
}

/* Reads a row like {0x401136, -1, 1}. Returns false after the last. */
static bool next_row(const char **list, uint64_t *out, unsigned count)
{
    const char *at = *list != NULL ? *list + strspn(*list, " ,") : "";
    if (*at++ != '{' || !take_numbers(&at, out, count) || *at++ != '}')
        return false;
    *list = at;
    return true;
}

/* Writes a number of a loop as the lines have it. */
static const char *name_loop(uint64_t n, char out[24])
{
    (void)snprintf(out, 24, (int64_t)n < 0 ? "-" : "%" PRIx64, n);
    return out;
}

static bool pass_loops(struct shape_reader *r)
{
    uint64_t row[3]; /* head, parent, depth */
    int bytes;
    bool good = true;
    char parent[24];
    while (good && next_row(&r->loops, row, 3)) {
        const char *counter = next_text(&r->counters, &bytes);
        good = pass(r, "loop %" PRIx64 " %s %" PRIx64 " %.*s", row[0], name_loop(row[1], parent),
                    row[2], bytes, counter);
    }
    return good;
}

static bool pass_places(struct shape_reader *r)
{
    uint64_t row[2]; /* pc, loop */
    int bytes;
    bool good = true;
    char loop[24];
    while (good && next_row(&r->places, row, 2)) {
        const char *accesses = next_text(&r->accesses, &bytes);
        good =
            pass(r, "place %" PRIx64 " %s %.*s", row[0], name_loop(row[1], loop), bytes, accesses);
    }
    return good;
}

static void note_table(struct shape_reader *r, const char *line)
{
    static const char *const beginnings[] = {
        "static const struct skeleton_loop l_", "static const struct skeleton_place p_",
        "static const char *const c_", "static const char *const a_"};
    const char **tables[] = {&r->loops, &r->places, &r->counters, &r->accesses};
    for (unsigned k = 0; k < 4; k++) {
        const char *list = after(line, beginnings[k]), *begin;
        if (list != NULL && (begin = strchr(list, '{')) != NULL)
            *tables[k] = begin + 1;
    }
}

/* --- all -------------------------------------------------------------------------------------- */

bool skel_shape_lines(const struct skel_text *t, const struct skel_function *f,
                      bool (*take)(void *context, char *line), void *context)
{
    struct shape_reader r = {.take = take, .context = context};
    const char *end = t->text + f->at + f->bytes, *next;
    bool good = true;
    for (const char *line = t->text + f->at; good && line < end; line = next + 1) {
        const char *comment = after(line, "/* "), *entry = after(line, "ENTRY(");
        next = memchr(line, '\n', (size_t)(end - line));
        if (next == NULL)
            break;
        if (entry != NULL)
            good = take_entry(&r, entry, next);
        else if (comment != NULL && next - comment > 3 &&
                 (after(comment, "loop ") != NULL || after(comment, "place ") != NULL))
            good = pass(&r, "%.*s", (int)(next - comment - 3), comment);
        else if (*line == 's')
            note_table(&r, line);
    }
    return good && pass_loops(&r) && pass_places(&r);
}
