/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps sequences of bytes in an unnamed file. */
#include "tools/timeline/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool_piece {
    uint64_t at;
    uint32_t size;
};

struct sequence {
    uint8_t *buffer;
    uint32_t used, room;
    struct spool_piece *pieces;
    uint32_t count, piece_room;
};

struct spool {
    int fd, error;
    char dir[512];
    struct sequence *sequences;
    uint32_t count;
    uint64_t size; /* of the file */
};

/* Opens the unnamed file. Not all file systems support O_TMPFILE. */
static int open_unnamed(const char *dir)
{
    char path[600];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    (void)snprintf(path, sizeof path, "%s/.spool-XXXXXX", dir);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

int spool_open(struct spool **spool, const char *dir, struct rt_error *e)
{
    struct spool *s = calloc(1, sizeof *s);
    *spool = NULL;
    if (s == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    (void)snprintf(s->dir, sizeof s->dir, "%s", dir);
    s->fd = open_unnamed(dir);
    if (s->fd < 0) {
        int error = errno;
        rt_error_set(
            e, "%s: no temporary file can be made there: %s; -output FILE names another folder",
            dir, strerror(error));
        free(s);
        return -error;
    }
    *spool = s;
    return 0;
}

void spool_close(struct spool *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        free(s->sequences[i].buffer);
        free(s->sequences[i].pieces);
    }
    free(s->sequences);
    (void)close(s->fd);
    free(s);
}

static bool grow(struct spool *s, void **p, size_t bytes)
{
    void *more = realloc(*p, bytes);
    if (more == NULL)
        s->error = ENOMEM;
    else
        *p = more;
    return more != NULL;
}

static struct sequence *sequence_of(struct spool *s, uint32_t number)
{
    if (number >= s->count) {
        uint32_t count = number + number / 2 + 16;
        if (!grow(s, (void **)&s->sequences, count * sizeof *s->sequences))
            return NULL;
        memset(s->sequences + s->count, 0, (count - s->count) * sizeof *s->sequences);
        s->count = count;
    }
    return &s->sequences[number];
}

static void flush(struct spool *s, struct sequence *q)
{
    if (q->count == q->piece_room) {
        uint32_t room = 2 * q->piece_room + 4;
        if (!grow(s, (void **)&q->pieces, room * sizeof *q->pieces))
            return;
        q->piece_room = room;
    }
    for (size_t done = 0; done < q->used && s->error == 0;) {
        ssize_t n = pwrite(s->fd, q->buffer + done, q->used - done, (off_t)(s->size + done));
        if (n < 0 && errno != EINTR)
            s->error = errno;
        done += n > 0 ? (size_t)n : 0;
    }
    q->pieces[q->count++] = (struct spool_piece){s->size, q->used};
    s->size += q->used;
    q->used = 0;
}

void spool_put(struct spool *s, uint32_t sequence, const void *bytes, size_t n)
{
    struct sequence *q = s->error == 0 ? sequence_of(s, sequence) : NULL;
    if (q == NULL)
        return;
    if (q->used + n > SPOOL_PIECE)
        flush(s, q);
    while (q->used + n > q->room) {
        uint32_t room = q->room == 0 ? 128 : 2 * q->room;
        if (!grow(s, (void **)&q->buffer, room))
            return;
        q->room = room;
    }
    memcpy(q->buffer + q->used, bytes, n);
    q->used += (uint32_t)n;
}

static int failed(const struct spool *s, int error, struct rt_error *e)
{
    rt_error_set(e, "%s: the temporary file there: %s", s->dir, strerror(error));
    return -error;
}

int spool_end(struct spool *s, struct rt_error *e)
{
    return s->error == 0 ? 0 : failed(s, s->error, e);
}

int spool_read(struct spool *s, uint32_t sequence,
               int (*take)(void *context, const uint8_t *bytes, size_t n), void *context,
               struct rt_error *e)
{
    uint8_t piece[SPOOL_PIECE];
    int rc = 0;
    if (sequence >= s->count)
        return 0;
    const struct sequence *q = &s->sequences[sequence];
    for (uint32_t i = 0; rc == 0 && i < q->count; i++) {
        for (size_t done = 0; done < q->pieces[i].size;) {
            ssize_t n = pread(s->fd, piece + done, q->pieces[i].size - done,
                              (off_t)(q->pieces[i].at + done));
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return failed(s, n < 0 ? errno : EIO, e);
            done += (size_t)n;
        }
        rc = take(context, piece, q->pieces[i].size);
    }
    if (rc == 0 && q->used != 0)
        rc = take(context, q->buffer, q->used);
    return rc;
}
