/* SPDX-License-Identifier: BSD-3-Clause
 * Writes one process's file of merged events, and reads and merges the files of all processes. */
#include "tools/streams/merged.h"

#include "base/sys.h"
#include "tools/streams/heap.h"
#include "tools/streams/joint_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, LONGEST = 96 /* bytes of a record, at most */ };

static const char magic[8] = {'R', 'T', 'P', 'A', 'R', 'T', '1', '\n'};

struct header {
    char magic[8];
    uint64_t meeting, run, events;
    uint32_t number, count; /* this process, number of processes */
    uint32_t streams, unused;
};

/* Fields of a stream's last record, against which the next one is encoded. */
struct last {
    uint64_t row, clock;
    uint32_t code;
    int32_t window;
    uint16_t cpu;
};

enum {
    NEXT_ROW = 1,
    SAME_WINDOW = 2,
    SAME_CPU = 4,
    NO_FLAGS = 8,
    NO_A = 16,
    NO_B = 32,
    SAME_STREAM = 64
};

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

static uint64_t folded(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static int64_t unfolded(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* --- writing ---------------------------------------------------------------------------------- */

struct merged_writer {
    struct header header;
    struct last *last; /* by stream */
    char path[PATH_MAX], unfinished[PATH_MAX + 16];
    int fd;
    uint32_t stream;
    int64_t ns;
    size_t n;
    unsigned char buffer[BUFFER];
};

static int cannot(const char *path, struct rt_error *e)
{
    int rc = errno != 0 ? -errno : -EIO;
    rt_error_set(e, "%s cannot be written: %s", path, strerror(-rc));
    return rc;
}

int merged_create(struct merged_writer **writer, uint32_t streams, uint64_t run, struct rt_error *e)
{
    struct merged_writer *w = malloc(sizeof *w);
    *writer = NULL;
    if (w == NULL)
        return no_memory(e);
    w->header = (struct header){.meeting = joint_meeting(),
                                .run = run,
                                .number = joint_number(),
                                .count = joint_count(),
                                .streams = streams};
    memcpy(w->header.magic, magic, sizeof magic);
    w->last = calloc(streams + 1u, sizeof *w->last);
    joint_path(w->path, "part", joint_number());
    (void)snprintf(w->unfinished, sizeof w->unfinished, "%s.unfinished", w->path);
    w->fd = open(w->unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    w->stream = UINT32_MAX;
    w->ns = 0;
    memcpy(w->buffer, &w->header, sizeof w->header);
    w->n = sizeof w->header;
    int rc = w->fd < 0 ? cannot(w->unfinished, e) : w->last == NULL ? no_memory(e) : 0;
    if (rc != 0) {
        merged_discard(w);
        return rc;
    }
    *writer = w;
    return 0;
}

static int flush(struct merged_writer *w, struct rt_error *e)
{
    int rc = sys_write_all(w->fd, w->buffer, w->n);
    if (rc != 0) {
        errno = -rc;
        return cannot(w->unfinished, e);
    }
    w->n = 0;
    return 0;
}

static inline unsigned char *put(unsigned char *p, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        *p++ = (unsigned char)(v | 128);
    *p++ = (unsigned char)v;
    return p;
}

int merged_put(struct merged_writer *w, const struct stream_record *r, struct rt_error *e)
{
    struct last *l = &w->last[r->stream];
    const struct rt_event *ev = &r->event;
    if (w->n > BUFFER - LONGEST) {
        int rc = flush(w, e);
        if (rc != 0)
            return rc;
    }
    unsigned char *p = w->buffer + w->n, *bits = p++;
    *bits = (unsigned char)((r->row == l->row + 1 ? NEXT_ROW : 0) |
                            (ev->window == l->window ? SAME_WINDOW : 0) |
                            (ev->cpu == l->cpu ? SAME_CPU : 0) | (ev->flags == 0 ? NO_FLAGS : 0) |
                            (ev->a == 0 ? NO_A : 0) | (ev->b == 0 ? NO_B : 0) |
                            (r->stream == w->stream ? SAME_STREAM : 0));
    if ((*bits & SAME_STREAM) == 0)
        p = put(p, r->stream);
    p = put(p, folded(r->ns - w->ns));
    p = put(p, folded((int64_t)(ev->clock - l->clock)));
    p = put(p, ev->code ^ l->code);
    if ((*bits & NEXT_ROW) == 0)
        p = put(p, r->row);
    if ((*bits & SAME_WINDOW) == 0)
        p = put(p, (uint32_t)ev->window);
    if ((*bits & SAME_CPU) == 0)
        p = put(p, ev->cpu);
    if ((*bits & NO_FLAGS) == 0)
        p = put(p, ev->flags);
    if ((*bits & NO_A) == 0)
        p = put(p, ev->a);
    if ((*bits & NO_B) == 0)
        p = put(p, ev->b);
    *l = (struct last){r->row, ev->clock, ev->code, ev->window, ev->cpu};
    w->stream = r->stream;
    w->ns = r->ns;
    w->n = (size_t)(p - w->buffer);
    w->header.events++;
    return 0;
}

int merged_finish(struct merged_writer *w, struct rt_error *e)
{
    int rc = flush(w, e);
    if (rc == 0 && pwrite(w->fd, &w->header, sizeof w->header, 0) != sizeof w->header)
        rc = cannot(w->unfinished, e);
    int fd = w->fd;
    w->fd = -1;
    if (close(fd) != 0 && rc == 0)
        rc = cannot(w->unfinished, e);
    if (rc == 0)
        rc = joint_is_whole(w->path, e);
    merged_discard(w);
    return rc;
}

void merged_discard(struct merged_writer *w)
{
    if (w == NULL)
        return;
    if (w->fd >= 0) {
        (void)close(w->fd);
        (void)unlink(w->unfinished);
    }
    free(w->last);
    free(w);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The file of one process. */
struct merged_part {
    char path[PATH_MAX];
    struct header header;
    int fd;
    unsigned char *buffer;
    size_t at, filled;
    uint64_t left; /* records */
    uint32_t stream;
    int64_t ns;
    struct stream_record next;
};

struct merged {
    struct merged_part *parts;
    uint32_t part_count, streams;
    struct last *last; /* by stream: each stream is in one file */
    const int32_t *numbers;
    /* Parts that have a record; the part of the next record is on top. */
    uint32_t *heap;
    uint32_t heap_count;
};

static int damaged(const struct merged_part *p, struct rt_error *e)
{
    rt_error_set(e, "%s is damaged: convert the run again", p->path);
    return -EBADMSG;
}

static int fill(struct merged_part *p, struct rt_error *e)
{
    size_t kept = p->filled - p->at;
    memmove(p->buffer, p->buffer + p->at, kept);
    p->at = 0;
    p->filled = kept;
    while (p->filled < BUFFER) {
        ssize_t n = read(p->fd, p->buffer + p->filled, BUFFER - p->filled);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rt_error_set(e, "%s cannot be read: %s", p->path, strerror(errno));
            return -EIO;
        }
        if (n == 0)
            break;
        p->filled += (size_t)n;
    }
    memset(p->buffer + p->filled, 0, LONGEST); /* the zeros end a record that is cut off */
    return 0;
}

static inline uint64_t get(const unsigned char **p)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte = *(*p)++;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    return v;
}

static int take(struct merged *m, struct merged_part *p, struct rt_error *e)
{
    if (p->filled - p->at < LONGEST) {
        int rc = fill(p, e);
        if (rc != 0)
            return rc;
    }
    const unsigned char *at = p->buffer + p->at, *end = p->buffer + p->filled;
    unsigned bits = *at++;
    if ((bits & SAME_STREAM) == 0)
        p->stream = (uint32_t)get(&at);
    if (p->stream >= m->streams)
        return damaged(p, e);
    struct last *l = &m->last[p->stream];
    struct rt_event *ev = &p->next.event;
    p->ns += unfolded(get(&at));
    p->next.ns = p->ns;
    p->next.stream = p->stream;
    ev->clock = l->clock + (uint64_t)unfolded(get(&at));
    ev->code = l->code ^ (uint32_t)get(&at);
    p->next.row = (bits & NEXT_ROW) != 0 ? l->row + 1 : get(&at);
    ev->window = (bits & SAME_WINDOW) != 0 ? l->window : (int32_t)(uint32_t)get(&at);
    ev->cpu = (bits & SAME_CPU) != 0 ? l->cpu : (uint16_t)get(&at);
    ev->flags = (bits & NO_FLAGS) != 0 ? 0 : (uint16_t)get(&at);
    ev->a = (bits & NO_A) != 0 ? 0 : get(&at);
    ev->b = (bits & NO_B) != 0 ? 0 : get(&at);
    ev->thread = m->numbers[p->stream];
    *l = (struct last){p->next.row, ev->clock, ev->code, ev->window, ev->cpu};
    p->at = (size_t)(at - p->buffer);
    p->left--;
    return at <= end ? 0 : damaged(p, e);
}

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct merged *m = context;
    const struct stream_record *x = &m->parts[a].next, *y = &m->parts[b].next;
    return x->ns < y->ns || (x->ns == y->ns && x->stream < y->stream);
}

int merged_next(struct merged *m, struct stream_record *r, bool *got, struct rt_error *e)
{
    *got = m->heap_count != 0;
    if (!*got)
        return 0;
    struct merged_part *p = &m->parts[m->heap[0]];
    *r = p->next;
    if (p->left == 0) {
        m->heap[0] = m->heap[--m->heap_count];
    } else {
        int rc = take(m, p, e);
        if (rc != 0)
            return rc;
    }
    if (m->heap_count != 0)
        heap_sift(m->heap, m->heap_count, 0, is_before, m);
    return 0;
}

static int open_part(struct merged *m, uint32_t number, uint64_t run, struct rt_error *e)
{
    struct merged_part *p = &m->parts[number];
    int rc = joint_wait("part", number, e);
    if (rc != 0)
        return rc;
    joint_path(p->path, "part", number);
    p->fd = open(p->path, O_RDONLY | O_CLOEXEC);
    if (p->fd < 0) {
        rt_error_set(e, "%s cannot be read: %s", p->path, strerror(errno));
        return -EIO;
    }
    p->buffer = malloc(BUFFER + LONGEST);
    if (p->buffer == NULL)
        return no_memory(e);
    const struct header *h = &p->header;
    if (read(p->fd, &p->header, sizeof p->header) != sizeof p->header ||
        memcmp(h->magic, magic, sizeof magic) != 0 || h->meeting != joint_meeting() ||
        h->number != number || h->count != joint_count())
        return damaged(p, e);
    if (h->run != run || h->streams != m->streams) {
        rt_error_set(e, "the run has changed while it was read: convert it when it has ended");
        return -EAGAIN;
    }
    p->left = h->events;
    if (p->left == 0)
        return 0;
    m->heap[m->heap_count++] = number;
    return take(m, p, e);
}

int merged_open(struct merged **merged, uint32_t streams, const int32_t *numbers, uint64_t run,
                struct rt_error *e)
{
    struct merged *m = calloc(1, sizeof *m);
    *merged = NULL;
    if (m == NULL)
        return no_memory(e);
    m->streams = streams;
    m->numbers = numbers;
    m->parts = calloc(joint_count(), sizeof *m->parts);
    m->heap = calloc(joint_count(), sizeof *m->heap);
    m->last = calloc(streams + 1u, sizeof *m->last);
    int rc = m->parts != NULL && m->heap != NULL && m->last != NULL ? 0 : no_memory(e);
    for (uint32_t i = 0; rc == 0 && i < joint_count(); i++) {
        m->parts[m->part_count++].fd = -1;
        rc = open_part(m, i, run, e);
    }
    for (uint32_t i = m->heap_count / 2; i-- > 0;)
        heap_sift(m->heap, m->heap_count, i, is_before, m);
    if (rc != 0) {
        merged_close(m);
        return rc;
    }
    *merged = m;
    return 0;
}

void merged_close(struct merged *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->part_count; i++) {
        if (m->parts[i].fd >= 0)
            (void)close(m->parts[i].fd);
        free(m->parts[i].buffer);
    }
    free(m->parts);
    free(m->heap);
    free(m->last);
    free(m);
}
