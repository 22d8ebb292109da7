/* SPDX-License-Identifier: BSD-3-Clause
 * Reads perf maps (tools/perf/Documentation/jit-interface.txt in Linux's source). */
#include "tools/perf_map.h"

#include "base/search.h"
#include "base/toolkit/array.h"
#include "base/toolkit/map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct mapped_function {
    uint64_t from, to;
    uint64_t furthest; /* the greatest `to` up to this one */
    size_t order;      /* in the file */
    char *name;
};

struct perf_map {
    struct mapped_function *rows; /* by `from`, then `order` */
    size_t count, room;
};

static int by_address(const void *a, const void *b)
{
    const struct mapped_function *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Returns false without memory. */
static bool take_line(struct perf_map *m, char *line)
{
    char *end, *name;
    errno = 0;
    uint64_t from = strtoull(line, &end, 16), bytes = strtoull(end, &name, 16);
    if (errno != 0 || end == line || *end != ' ' || name == end || *name != ' ' || name[1] == '\0')
        return true;
    void *rows = array_grown(m->rows, m->count, &m->room, sizeof *m->rows);
    char *copy = strdup(name + 1);
    if (rows != NULL)
        m->rows = rows;
    if (rows == NULL || copy == NULL) {
        free(copy);
        return false;
    }
    m->rows[m->count] =
        (struct mapped_function){.from = from, .to = from + bytes, .order = m->count, .name = copy};
    m->count++;
    return true;
}

struct perf_map *perf_map_read(const char *path)
{
    FILE *f = fopen_regular(path);
    struct perf_map *m = f != NULL ? calloc(1, sizeof *m) : NULL;
    char *line = NULL;
    size_t room = 0;
    bool good = m != NULL;
    for (ssize_t n; good && (n = getline(&line, &room, f)) > 0;) {
        line[n - (line[n - 1] == '\n')] = '\0';
        good = take_line(m, line);
    }
    free(line);
    if (f != NULL)
        (void)fclose(f);
    if (!good) {
        perf_map_free(m);
        return NULL;
    }
    if (m->count > 0)
        qsort(m->rows, m->count, sizeof *m->rows, by_address);
    for (size_t i = 0; i < m->count; i++) {
        uint64_t before = i > 0 ? m->rows[i - 1].furthest : 0;
        m->rows[i].furthest = m->rows[i].to > before ? m->rows[i].to : before;
    }
    return m;
}

const char *perf_map_name(const struct perf_map *m, uint64_t address)
{
    const struct mapped_function *found = NULL;
    size_t n = 0;
    if (m != NULL)
        SEARCH_FIRST(n, m->count, m->rows[n].from <= address);
    for (; n > 0 && m->rows[n - 1].furthest > address; n--)
        if (m->rows[n - 1].to > address && (found == NULL || m->rows[n - 1].order > found->order))
            found = &m->rows[n - 1];
    return found != NULL ? found->name : NULL;
}

void perf_map_free(struct perf_map *m)
{
    for (size_t i = 0; m != NULL && i < m->count; i++)
        free(m->rows[i].name);
    if (m != NULL)
        free(m->rows);
    free(m);
}
