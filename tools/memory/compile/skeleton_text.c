/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the functions, loops and direct calls in the text of a skeleton. */
#include "tools/memory/compile/skeleton_text.h"

#include "base/toolkit/array.h"
#include "base/toolkit/map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_call(struct skel_text *t, uint32_t from, uint32_t to)
{
    uint32_t(*more)[2] = array_grown(t->calls, t->call_count, &t->call_room, sizeof *more);
    if (more == NULL)
        return false;
    t->calls = more;
    t->calls[t->call_count][0] = from;
    t->calls[t->call_count++][1] = to;
    return true;
}

/* Takes a comment that lists the calls of a function, as isa/memory/analyse_image.c writes it. */
static bool take_calls(struct skel_text *t, const char *line)
{
    uint32_t from;
    int at = 0;
    if (sscanf(line, "/* %" SCNu32 " calls%n", &from, &at) < 1 || at == 0)
        return true;
    for (const char *p = line + at;;) {
        char *end;
        unsigned long to = strtoul(p, &end, 10);
        if (end == p || from >= SKEL_FUNCTIONS_MOST || to >= SKEL_FUNCTIONS_MOST)
            return true;
        if (!add_call(t, from, (uint32_t)to))
            return false;
        p = end;
    }
}

/* Fills the entry at t->count. It overwrites a previous function that is incomplete. */
static bool begin_function(struct skel_text *t, uint32_t number, size_t at)
{
    struct skel_function *more = array_grown(t->functions, t->count, &t->room, sizeof *more);
    if (more == NULL)
        return false;
    t->functions = more;
    if (t->count == 0)
        t->head = at;
    t->functions[t->count] = (struct skel_function){.number = number, .at = at};
    return true;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* Scans the text. Each line ends with '\n' or 0. */
static bool scan(struct skel_text *t, size_t length)
{
    static const char some[] = "#if !defined(SKELETON_SOME) || defined(SKELETON_";
    bool inside = false, good = true;
    t->head = length;
    for (size_t at = 0, next; good && at < length; at = next) {
        const char *line = t->text + at, *end = memchr(line, '\n', length - at);
        next = end != NULL ? (size_t)(end - t->text) + 1 : length;
        if (*line == '/') {
            good = take_calls(t, line);
        } else if (*line == '#' && begins(line, some)) {
            unsigned long n = strtoul(line + sizeof some - 1, NULL, 10);
            inside = n < SKEL_FUNCTIONS_MOST;
            good = !inside || begin_function(t, (uint32_t)n, at);
        } else if (inside && *line == ' ' && begins(line, "        TURN();")) {
            t->functions[t->count].loops = true;
        } else if (inside && begins(line, "#endif\n")) {
            t->functions[t->count].bytes = next - t->functions[t->count].at;
            t->count++;
            t->bytes = next;
            inside = false;
        }
    }
    t->bytes = t->count > 0 || inside ? t->bytes : length;
    t->head = t->count > 0 ? t->head : t->bytes;
    t->cut = t->bytes != length || length == 0 || t->text[length - 1] != '\n';
    return good;
}

bool skel_text_read(struct skel_text *t, const char *path)
{
    size_t room = 0;
    FILE *in = fopen_regular(path);
    *t = (struct skel_text){.text = NULL};
    if (in == NULL)
        return false;
    /* The text contains no 0 byte: this reads all of it. */
    ssize_t n = getdelim(&t->text, &room, '\0', in);
    bool good = ferror(in) == 0 && t->text != NULL;
    (void)fclose(in);
    return good && scan(t, n > 0 ? (size_t)n : 0);
}

void skel_text_free(struct skel_text *t)
{
    free(t->text);
    free(t->functions);
    free(t->calls);
}
