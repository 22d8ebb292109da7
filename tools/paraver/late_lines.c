/* SPDX-License-Identifier: BSD-3-Clause
 * Inserts late lines into a trace: reads the trace once more and copies it. Needed only where a
 * message was received long after it was sent. */
#include "tools/paraver/prv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* TIME_FIELD: the field that holds the time of a line, in lines of all kinds; lines are sorted by
 * it. BLOCK: bytes to read at once; longer lines make it grow. */
enum { TIME_FIELD = 5, BLOCK = 1 << 16 };

struct merge {
    FILE *to;
    size_t i, n; /* late lines: the next one, all */
    void (*put)(void *context, size_t i, char line[256]);
    void *context;
    char late[256]; /* the next late line, and its time */
    int64_t time;
};

static int64_t time_of(const char *line)
{
    for (int fields = 0; fields < TIME_FIELD; line++) {
        if (*line == '\0')
            return 0;
        fields += *line == ':';
    }
    return strtoll(line, NULL, 10);
}

static void find_late(struct merge *m)
{
    if (m->i == m->n)
        return;
    m->put(m->context, m->i, m->late);
    m->time = time_of(m->late);
}

static void put_late(struct merge *m)
{
    (void)fputs(m->late, m->to);
    m->i++;
    find_late(m);
}

/* Copies complete lines, and puts each late line before the first line that has a later time. If
 * the time of the block's last line is not later than that of the next late line, no line's is. */
static void copy_lines(struct merge *m, const char *lines, const char *end)
{
    const char *last = memrchr(lines, '\n', (size_t)(end - lines) - 1), *from = lines;
    bool any = m->i < m->n && m->time < time_of(last != NULL ? last + 1 : lines);
    while (any && lines < end && m->i < m->n) {
        for (int64_t time = time_of(lines); m->i < m->n && m->time < time; from = lines) {
            (void)fwrite(from, 1, (size_t)(lines - from), m->to);
            put_late(m);
        }
        const char *newline = memchr(lines, '\n', (size_t)(end - lines));
        lines = newline != NULL ? newline + 1 : end;
    }
    (void)fwrite(from, 1, (size_t)(end - from), m->to);
}

static int copy_first_line(FILE *from, FILE *to)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes = getline(&line, &room, from);
    if (bytes > 0)
        (void)fwrite(line, 1, (size_t)bytes, to);
    free(line);
    return bytes > 0 ? 0 : EIO;
}

/* Doubles the block once it is full, since a line may be longer than the block. */
static char *grow(char *block, size_t have, size_t *room)
{
    if (have < *room)
        return block;
    char *grown = realloc(block, 2 * *room + 1);
    if (grown != NULL)
        *room *= 2;
    else
        free(block);
    return grown;
}

static int merge(FILE *from, struct merge *m)
{
    size_t have = 0, room = BLOCK, got = 1;
    char *block = malloc(room + 1);
    int error = block == NULL ? ENOMEM : copy_first_line(from, m->to);
    find_late(m);
    while (error == 0 && (got = fread(block + have, 1, room - have, from)) > 0) {
        have += got;
        block[have] = '\0';
        const char *newline = memrchr(block, '\n', have);
        size_t whole = newline != NULL ? (size_t)(newline + 1 - block) : 0;
        if (whole > 0)
            copy_lines(m, block, block + whole);
        have -= whole;
        memmove(block, block + whole, have);
        if ((block = grow(block, have, &room)) == NULL)
            error = ENOMEM;
    }
    while (error == 0 && m->i < m->n)
        put_late(m);
    free(block);
    return error != 0 ? error : ferror(from) != 0 || ferror(m->to) != 0 ? EIO : 0;
}

int prv_merge_late(const char *path, size_t n, void (*put)(void *context, size_t i, char line[256]),
                   void *context, struct rt_error *e)
{
    char other[4300];
    (void)snprintf(other, sizeof other, "%s.late", path);
    FILE *from = fopen(path, "re"), *to = from != NULL ? fopen(other, "we") : NULL;
    struct merge m = {.to = to, .n = n, .put = put, .context = context};
    int error = to == NULL ? errno : merge(from, &m);
    if (from != NULL)
        (void)fclose(from);
    if (to != NULL && fclose(to) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(other, path) != 0)
        error = errno;
    if (error == 0)
        return 0;
    (void)unlink(other);
    rt_error_set(e, "%s: %s", path, strerror(error));
    return -error;
}
