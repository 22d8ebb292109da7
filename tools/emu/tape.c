/* SPDX-License-Identifier: BSD-3-Clause
 * What channels showed, on disk. */
#include "tools/emu/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROOM = 65536,
    KEPT = 4096
}; /* of records in memory; kept as others go to disk: they may move */
#define NO_STATE UINT64_MAX

struct tape {
    int fd;
    char dir[512];
    struct taped *buffer;
    size_t count;     /* in the buffer */
    uint64_t flushed; /* records on disk before the buffer's first */
    uint64_t *open;   /* by row, threads first: where its state is */
    uint32_t threads, rows;
    uint64_t read; /* records */
    int error;
};

/* O_TMPFILE is not everywhere. */
static int open_unnamed(const char *dir)
{
    char path[600];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    (void)snprintf(path, sizeof path, "%s/.tape-XXXXXX", dir);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

int tape_open(struct tape **tape, const char *dir, uint32_t threads, uint32_t processors,
              struct rt_error *e)
{
    struct tape *t = calloc(1, sizeof *t);
    *tape = t;
    if (t != NULL) {
        *t = (struct tape){.fd = -1, .threads = threads, .rows = threads + processors};
        (void)snprintf(t->dir, sizeof t->dir, "%s", dir);
        t->buffer = malloc(ROOM * sizeof *t->buffer);
        t->open = malloc((t->rows + 1u) * sizeof *t->open);
    }
    if (t == NULL || t->buffer == NULL || t->open == NULL) {
        rt_error_set(e, "no memory");
        tape_close(t);
        *tape = NULL;
        return -ENOMEM;
    }
    memset(t->open, 0xff, (t->rows + 1u) * sizeof *t->open);
    t->fd = open_unnamed(dir);
    if (t->fd < 0) {
        int error = errno;
        rt_error_set(e, "%s: no temporary file can be made there: %s", dir, strerror(error));
        tape_close(t);
        *tape = NULL;
        return -error;
    }
    return 0;
}

void tape_close(struct tape *t)
{
    if (t == NULL)
        return;
    if (t->fd >= 0)
        (void)close(t->fd);
    free(t->buffer);
    free(t->open);
    free(t);
}

static void write_all(struct tape *t, const void *bytes, size_t n, uint64_t at)
{
    const char *p = bytes;
    while (n != 0 && t->error == 0) {
        ssize_t done = pwrite(t->fd, p, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            t->error = done < 0 ? errno : ENOSPC;
            return;
        }
        p += done;
        n -= (size_t)done;
        at += (size_t)done;
    }
}

static void flush(struct tape *t, size_t n)
{
    write_all(t, t->buffer, n * sizeof *t->buffer, t->flushed * sizeof *t->buffer);
    memmove(t->buffer, t->buffer + n, (t->count - n) * sizeof *t->buffer);
    t->count -= n;
    t->flushed += n;
}

static uint64_t *open_of(const struct tape *t, bool processor, uint32_t row)
{
    return &t->open[processor ? t->threads + row : row];
}

static void end_state(struct tape *t, uint64_t *open, int64_t time)
{
    if (*open == NO_STATE)
        return;
    if (*open >= t->flushed)
        t->buffer[*open - t->flushed].end = time;
    else
        write_all(t, &time, sizeof time,
                  *open * sizeof(struct taped) + offsetof(struct taped, end));
    *open = NO_STATE;
}

void tape_put(struct tape *t, bool processor, uint32_t row, uint16_t channel, int64_t time,
              int64_t value, bool state)
{
    if (t->count == ROOM)
        flush(t, ROOM - KEPT);
    uint64_t *open = open_of(t, processor, row);
    if (state)
        end_state(t, open, time);
    size_t at = t->count++;
    for (; at > 0 && t->buffer[at - 1].time > time; at--) {
        const struct taped *moved = &t->buffer[at - 1];
        uint64_t *its = open_of(t, moved->processor, moved->row);
        if (*its == t->flushed + at - 1)
            *its = t->flushed + at;
        t->buffer[at] = *moved;
    }
    t->buffer[at] = (struct taped){time, value, TAPE_EVENT, row, channel, processor};
    if (state) {
        t->buffer[at].end = time;
        *open = t->flushed + at;
    }
}

static int failed(const struct tape *t, int error, struct rt_error *e)
{
    rt_error_set(e, "%s: the temporary file there: %s", t->dir, strerror(error));
    return -error;
}

int tape_rewind(struct tape *t, int64_t end, struct rt_error *e)
{
    for (uint32_t i = 0; i < t->rows; i++)
        end_state(t, &t->open[i], end);
    flush(t, t->count);
    return t->error == 0 ? 0 : failed(t, t->error, e);
}

int tape_next(struct tape *t, const struct taped **first, size_t *count, struct rt_error *e)
{
    uint64_t left = t->flushed - t->read;
    size_t n = left < ROOM ? (size_t)left : ROOM, bytes = n * sizeof *t->buffer;
    char *p = (char *)t->buffer;
    off_t at = (off_t)(t->read * sizeof *t->buffer);
    while (bytes != 0) {
        ssize_t got = pread(t->fd, p, bytes, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return failed(t, got < 0 ? errno : EIO, e);
        p += got;
        at += got;
        bytes -= (size_t)got;
    }
    t->read += n;
    *first = t->buffer;
    *count = n;
    return 0;
}
