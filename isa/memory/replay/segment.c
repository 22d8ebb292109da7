/* SPDX-License-Identifier: BSD-3-Clause
 * Reads segments of a recording by pread(2) instead of mapping it: a file may become shorter while
 * it is read, and grows while it is followed. */
#include "isa/memory/replay/segment.h"

#include "base/format/accesses.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS = 1000, HEAD = sizeof(struct memory_segment) };

int segment_file_damaged(const struct segment_file *f, const char *what, struct rt_error *e)
{
    rt_error_set(e, "%s is damaged: %s", f->path, what);
    return -EINVAL;
}

static int get(const struct segment_file *f, void *to, size_t n, uint64_t at, struct rt_error *e)
{
    uint8_t *p = to;
    while (n > 0) {
        ssize_t done = at <= INT64_MAX ? pread(f->fd, p, n, (off_t)at) : 0;
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            int rc = -errno;
            rt_error_set(e, "%s cannot be read: %s", f->path, strerror(-rc));
            return rc;
        }
        if (done == 0)
            return segment_file_damaged(f, "its end is missing", e);
        p += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

int segment_file_head(struct segment_file *f, struct rt_error *e)
{
    int rc = get(f, &f->head, sizeof f->head, 0, e);
    if (rc == -EINVAL ||
        (rc == 0 && (memcmp(f->head.magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) != 0 ||
                     f->head.image_count > MEMORY_IMAGES)))
        return segment_file_damaged(f, "it is no recording of memory accesses", e);
    return rc;
}

int segment_file_open(struct segment_file *f, const char *path, struct rt_error *e)
{
    uint8_t last;
    *f = (struct segment_file){.path = path};
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0) {
        int rc = -errno;
        rt_error_set(e, "%s cannot be read: %s", path, strerror(-rc));
        return rc;
    }
    int rc = segment_file_head(f, e);
    return rc != 0 ? rc : get(f, &last, 1, MEMORY_LOG - 1, e);
}

void segment_file_close(struct segment_file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);
    f->fd = -1;
}

/* --- the log ---------------------------------------------------------------------------------- */

static int get_tail(const struct segment_file *f, uint64_t *tail, struct rt_error *e)
{
    return get(f, tail, sizeof *tail, offsetof(struct memory_head, tail), e);
}

/* Reads the part of the log that is in the buffer, from `at` on; zeros follow. */
static int get_buffer(const struct segment_file *f, uint64_t tail, uint8_t *to, size_t n,
                      uint64_t at, struct rt_error *e)
{
    size_t there = (tail & MEMORY_MOVED) != 0 || at >= MEMORY_BUFFER ? 0
                   : MEMORY_BUFFER - at < n                          ? MEMORY_BUFFER - at
                                                                     : n;
    memset(to + there, 0, n - there);
    return get(f, to, there, MEMORY_PAGE + at, e);
}

/* Reads bytes of the log from the file or the buffer. If they were moved meanwhile, reads them
 * again. */
static int get_log(const struct segment_file *f, void *to, size_t n, uint64_t at,
                   struct rt_error *e)
{
    for (int k = 0; k < ATTEMPTS; k++) {
        uint64_t tail, again = 0;
        int rc = get_tail(f, &tail, e);
        uint64_t flushed = tail & ~MEMORY_MOVED;
        size_t filed = at >= flushed ? 0 : flushed - at < n ? (size_t)(flushed - at) : n;
        rc = rc != 0 ? rc : get(f, to, filed, MEMORY_LOG + at, e);
        if (rc != 0 || filed == n)
            return rc;
        rc = get_buffer(f, tail, (uint8_t *)to + filed, n - filed, at + filed - flushed, e);
        rc = rc != 0 ? rc : get_tail(f, &again, e);
        if (rc != 0 || again == tail)
            return rc;
    }
    return segment_file_damaged(f, "it changes all the time", e);
}

/* Finds the end of a log that its process has left: the last byte of the buffer that is not 0. */
static int find_end(const struct segment_file *f, uint64_t *end, struct rt_error *e)
{
    uint8_t *buffer = malloc(MEMORY_BUFFER);
    uint64_t tail = 0, again = MEMORY_OPEN;
    size_t n = MEMORY_BUFFER;
    int rc = buffer == NULL ? -ENOMEM : 0;
    if (rc != 0)
        rt_error_set(e, "there is no memory left");
    for (int k = 0; rc == 0 && tail != again && k < ATTEMPTS; k++) {
        rc = get_tail(f, &tail, e);
        rc = rc != 0 ? rc : get_buffer(f, tail, buffer, MEMORY_BUFFER, 0, e);
        rc = rc != 0 ? rc : get_tail(f, &again, e);
    }
    while (rc == 0 && n > 0 && buffer[n - 1] == 0)
        n--;
    *end = (tail & ~MEMORY_MOVED) + (tail == again ? n : 0);
    free(buffer);
    return rc;
}

/* --- a segment -------------------------------------------------------------------------------- */

static int get_segment(const struct segment *s, struct memory_segment *out, struct rt_error *e)
{
    int rc = get_log(s->file, out, sizeof *out, s->place, e);
    return rc == -EINVAL || (rc == 0 && out->magic != MEMORY_SEGMENT_MAGIC)
               ? segment_file_damaged(s->file, "a segment is missing", e)
               : rc;
}

int segment_begins(const struct segment_file *f, uint64_t place, bool *there, struct rt_error *e)
{
    uint32_t magic = 0;
    int rc = get_log(f, &magic, sizeof magic, place, e);
    *there = magic != 0;
    return rc;
}

int segment_open(struct segment *s, struct segment_file *f, uint64_t place, struct rt_error *e)
{
    struct memory_segment head;
    *s = (struct segment){.file = f, .place = place};
    int rc = get_segment(s, &head, e);
    s->at = s->end = place + HEAD;
    s->window = rc == 0 ? head.window : 0;
    s->signal = rc == 0 ? head.signal : 0;
    return rc;
}

static int close_it(struct segment *s, const struct memory_segment *head, struct rt_error *e)
{
    uint64_t tail;
    int rc = get_tail(s->file, &tail, e);
    uint64_t most = (tail & ~MEMORY_MOVED) + MEMORY_BUFFER - s->place - HEAD;
    if (rc == 0 && (head->bytes > most || head->bytes > INT64_MAX))
        return segment_file_damaged(s->file, "a segment is longer than the file", e);
    s->end = s->place + HEAD + head->bytes;
    s->whole = rc == 0;
    s->how = head->end;
    return rc;
}

int segment_look(struct segment *s, bool grows, struct rt_error *e)
{
    struct memory_segment head;
    uint64_t end = 0;
    int rc = get_segment(s, &head, e);
    if (rc != 0 || s->whole)
        return rc;
    if (head.bytes == MEMORY_OPEN) {
        rc = grows ? get_tail(s->file, &end, e) : find_end(s->file, &end, e);
        /* The segment may have been closed just now, and others begun. */
        rc = rc != 0 ? rc : get_segment(s, &head, e);
    }
    if (rc != 0 || head.bytes != MEMORY_OPEN)
        return rc != 0 ? rc : close_it(s, &head, e);
    end &= ~MEMORY_MOVED;
    if (end > s->end)
        s->end = end;
    s->whole = !grows;
    s->how = ACCESSES_OPEN;
    return 0;
}

int segment_read(struct segment *s, uint8_t *to, size_t room, size_t *got, struct rt_error *e)
{
    bool whole = s->whole;
    *got = s->at >= s->end ? 0 : s->end - s->at < room ? (size_t)(s->end - s->at) : room;
    int rc = get_log(s->file, to, *got, s->at, e);
    /* The segment may have been closed while we read; check again that these bytes are still
     * ours. */
    if (rc == 0 && !whole && *got != 0)
        rc = segment_look(s, true, e);
    if (rc == 0 && !whole && s->whole && s->end < s->at + *got)
        return segment_read(s, to, room, got, e);
    s->at += *got;
    return rc;
}

uint64_t segment_bytes(const struct segment *s)
{
    return s->end - s->place - HEAD;
}

uint64_t segment_next(const struct segment *s)
{
    return (s->end + HEAD - 1) & ~(uint64_t)(HEAD - 1);
}
