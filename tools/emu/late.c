/* SPDX-License-Identifier: BSD-3-Clause
 * Lines that were known too late, put where they belong: a trace is read once more. Only where a message was received long after it was sent. */
#include "tools/emu/prv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where lines of all kinds have the time that they stand by. */
enum { TIME_FIELD = 5 };

static int64_t time_of(const char *line)
{
    for (int i = 0; i < TIME_FIELD && line != NULL; i++) {
        line = strchr(line, ':');
        line = line != NULL ? line + 1 : NULL;
    }
    return line != NULL ? strtoll(line, NULL, 10) : 0;
}

static int merge(FILE *from, FILE *to, size_t n,
                 void (*put)(void *context, size_t i, char line[256]), void *context)
{
    char *line = NULL, late[256];
    size_t room = 0, i = 0;
    ssize_t bytes;
    bool first = true;
    if (n > 0)
        put(context, 0, late);
    while ((bytes = getline(&line, &room, from)) > 0) {
        while (!first && i < n && time_of(late) < time_of(line)) {
            (void)fputs(late, to);
            if (++i < n)
                put(context, i, late);
        }
        (void)fwrite(line, 1, (size_t)bytes, to);
        first = false;
    }
    for (; i < n; i++) {
        put(context, i, late);
        (void)fputs(late, to);
    }
    free(line);
    return ferror(from) != 0 || ferror(to) != 0 ? EIO : 0;
}

int prv_merge_late(const char *path, size_t n, void (*put)(void *context, size_t i, char line[256]),
                   void *context, struct rt_error *e)
{
    char other[4300];
    (void)snprintf(other, sizeof other, "%s.late", path);
    FILE *from = fopen(path, "re"), *to = from != NULL ? fopen(other, "we") : NULL;
    int error = to == NULL ? errno : merge(from, to, n, put, context);
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
