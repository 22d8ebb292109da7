/* SPDX-License-Identifier: BSD-3-Clause
 * Splits recordings of memory accesses by window. A segment does not depend on other segments, so
 * each is copied unchanged into its window's file, except its reference to a place in another
 * file. */
#include "base/format/memory_recording.h"
#include "base/identity.h"
#include "base/toolkit/array.h"
#include "base/toolkit/map.h"

#include "tools/split/split.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

enum { HEAD = sizeof(struct memory_segment), BLOCK = 1 << 16 };

/* A recording. */
struct split_source {
    char name[256];
    int fd;
    struct memory_head head;
    uint64_t flushed;   /* bytes of the log that are stored after the buffer */
    uint64_t last, end; /* ends of the log: last nonzero byte; all readable bytes */
};

/* Where a segment was copied to. */
struct moved {
    uint32_t pid, tid, level;
    char late[48]; /* `late` of its recording's head */
    uint64_t from, end, to;
};

struct work {
    struct split_memory *m;
    struct split_source *sources;
    size_t source_count;
    struct moved *moved;
    size_t moved_count, moved_room;
    uint8_t block[BLOCK];
    struct rt_error *e;
};

static int failed(struct work *w, const char *what, const char *path)
{
    int rc = errno != 0 ? -errno : -EIO;
    rt_error_set(w->e, "%s %s: %s", path, what, strerror(-rc));
    return rc;
}

static int damaged(struct work *w, const struct split_source *s, const char *what)
{
    rt_error_set(w->e, "%s/" MEMORY_FOLDER "/%s is damaged: %s", w->m->dir, s->name, what);
    return -EBADMSG;
}

/* --- the log of a recording ------------------------------------------------------------------- */

static bool get_at(int fd, void *to, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (uint8_t *)to + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool put_at(int fd, const void *from, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = pwrite(fd, (const uint8_t *)from + done, n - done, (off_t)(at + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* Reads n bytes of the log at offset `at`. The first `flushed` bytes of the log are stored after
 * the buffer, the rest in the buffer. */
static bool get_log(const struct split_source *s, void *to, size_t n, uint64_t at)
{
    size_t filed = at >= s->flushed ? 0 : s->flushed - at < n ? (size_t)(s->flushed - at) : n;
    uint64_t in_buffer = at + filed - s->flushed;
    return at <= s->end && n <= s->end - at && get_at(s->fd, to, filed, MEMORY_LOG + at) &&
           (filed == n || get_at(s->fd, (uint8_t *)to + filed, n - filed, MEMORY_PAGE + in_buffer));
}

/* Finds the end of the log: the last byte of the buffer that is not 0 (see
 * base/format/memory_recording.h). */
static bool find_end(struct split_source *s)
{
    uint64_t tail = atomic_load(&s->head.tail);
    uint8_t *buffer = malloc(MEMORY_BUFFER);
    size_t n = (tail & MEMORY_MOVED) != 0 ? 0 : MEMORY_BUFFER;
    bool good = buffer != NULL && get_at(s->fd, buffer, n, MEMORY_PAGE);
    while (good && n > 0 && buffer[n - 1] == 0)
        n--;
    s->flushed = tail & ~MEMORY_MOVED;
    s->last = s->flushed + n;
    s->end = s->flushed + ((tail & MEMORY_MOVED) != 0 ? 0 : MEMORY_BUFFER);
    free(buffer);
    return good;
}

static bool open_source(struct split_source *s, const char *folder)
{
    char path[PATH_MAX + 260];
    (void)snprintf(path, sizeof path, "%s/%s", folder, s->name);
    s->fd = open_regular(path);
    return s->fd >= 0 && get_at(s->fd, &s->head, sizeof s->head, 0) &&
           memcmp(s->head.magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) == 0 &&
           s->head.image_count <= MEMORY_IMAGES && find_end(s);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Links or copies a file of the run's memory folder to a window's. The name comes from a recording,
 * so it must be a plain file name. */
static int carry_file(struct work *w, const char *folder, const char *name, size_t room)
{
    char from[PATH_MAX + 300], to[PATH_MAX + 300];
    if (memchr(name, 0, room) == NULL || name[0] == '\0' || name[0] == '.' ||
        strchr(name, '/') != NULL)
        return 0;
    (void)snprintf(from, sizeof from, "%s/" MEMORY_FOLDER "/%s", w->m->dir, name);
    (void)snprintf(to, sizeof to, "%s/%s", folder, name);
    if (link(from, to) == 0 || errno == EEXIST || errno == ENOENT)
        return 0; /* if it is missing, replay says so */
    int in = open_regular(from);
    int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t got = 1;
    uint64_t at = 0;
    while (out >= 0 && got > 0) {
        got = read(in, w->block, BLOCK);
        if (got > 0 && !put_at(out, w->block, (size_t)got, at))
            got = -1;
        at += got > 0 ? (uint64_t)got : 0;
    }
    int rc = out < 0 || got < 0 ? failed(w, "cannot be copied", from) : 0;
    if (in >= 0)
        (void)close(in);
    if (out >= 0 && close(out) != 0 && rc == 0)
        rc = failed(w, "cannot be written", to);
    return rc;
}

/* Writes a recording without segments, and adds the files that its replay needs to the folder. */
static int begin_file(struct work *w, const struct split_source *s, const char *folder, int fd,
                      struct memory_head *head)
{
    *head = s->head;
    atomic_store(&head->tail, 0);
    atomic_store(&head->closed, 0);
    int rc = put_at(fd, head, sizeof *head, 0) && ftruncate(fd, (off_t)MEMORY_LOG) == 0
                 ? 0
                 : failed(w, "cannot be written", folder);
    for (uint32_t i = 0; rc == 0 && i < s->head.image_count; i++)
        rc = carry_file(w, folder, s->head.images[i].skeleton, sizeof s->head.images[i].skeleton);
    if (rc == 0)
        rc = carry_file(w, folder, s->head.late, sizeof s->head.late);
    w->m->files += rc == 0;
    return rc;
}

static int copy_segment(struct work *w, const struct split_source *s, uint64_t place,
                        uint64_t bytes, const struct memory_segment *segment, int fd, uint64_t to)
{
    bool good = put_at(fd, segment, HEAD, MEMORY_LOG + to);
    for (uint64_t done = 0; good && done < bytes;) {
        size_t n = bytes - done < BLOCK ? (size_t)(bytes - done) : BLOCK;
        good = get_log(s, w->block, n, place + HEAD + done) &&
               put_at(fd, w->block, n, MEMORY_LOG + to + HEAD + done);
        done += n;
    }
    return good ? 0 : failed(w, "cannot be copied", s->name);
}

/* Returns the new place of a handler's `outer`, its place in the recording that the handler
 * interrupted. Returns 0 if that place was not copied. */
static uint64_t outer_now(const struct work *w, const struct split_source *s, uint64_t outer)
{
    for (size_t i = w->moved_count; s->head.level > 0 && i-- > 0;) {
        const struct moved *v = &w->moved[i];
        if (v->pid == s->head.pid && v->tid == s->head.tid && v->level + 1 == s->head.level &&
            memcmp(v->late, s->head.late, sizeof v->late) == 0 && v->from <= outer &&
            outer <= v->end)
            return v->to + (outer - v->from);
    }
    return 0;
}

static int note_moved(struct work *w, const struct split_source *s, uint64_t from, uint64_t end,
                      uint64_t to)
{
    struct moved *more = array_grown(w->moved, w->moved_count, &w->moved_room, sizeof *more);
    if (more == NULL) {
        rt_error_set(w->e, "out of memory");
        return -ENOMEM;
    }
    w->moved = more;
    struct moved *v = &w->moved[w->moved_count++];
    *v = (struct moved){s->head.pid, s->head.tid, s->head.level, "", from, end, to};
    memcpy(v->late, s->head.late, sizeof v->late);
    return 0;
}

/* Appends the segment to its window's recording. */
static int put_segment(struct work *w, const struct split_source *s, uint64_t place, uint64_t bytes,
                       struct memory_segment *segment)
{
    char folder[PATH_MAX + 64], path[PATH_MAX + 340];
    struct memory_head head;
    (void)snprintf(folder, sizeof folder, "%s/window-%05d/" MEMORY_FOLDER, w->m->out,
                   (int)segment->window);
    (void)snprintf(path, sizeof path, "%s/%s", folder, s->name);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return failed(w, "cannot be made", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed(w, "cannot be made", path);
    int rc = get_at(fd, &head, sizeof head, 0) ? 0 : begin_file(w, s, folder, fd, &head);
    uint64_t to = (atomic_load(&head.tail) + HEAD - 1) & ~(uint64_t)(HEAD - 1);
    segment->outer = outer_now(w, s, segment->outer);
    if (rc == 0)
        rc = copy_segment(w, s, place, bytes, segment, fd, to);
    uint64_t end = to + HEAD + bytes;
    atomic_store(&head.tail, end);
    atomic_store(&head.closed, segment->bytes == MEMORY_OPEN ? MEMORY_OPEN : end);
    if (rc == 0 && !put_at(fd, &head, sizeof head, 0))
        rc = failed(w, "cannot be written", path);
    if (close(fd) != 0 && rc == 0)
        rc = failed(w, "cannot be written", path);
    return rc == 0 ? note_moved(w, s, place, place + HEAD + bytes, to) : rc;
}

/* --- a whole run ------------------------------------------------------------------------------ */

static int split_source(struct work *w, const struct split_source *s)
{
    struct memory_segment segment;
    int rc = 0;
    for (uint64_t place = 0; rc == 0 && place + HEAD <= s->end;) {
        if (!get_log(s, &segment, HEAD, place))
            return damaged(w, s, "its end is missing");
        if (segment.magic == 0)
            return 0;
        uint64_t bytes = segment.bytes;
        if (bytes == MEMORY_OPEN)
            bytes = s->last > place + HEAD ? s->last - place - HEAD : 0;
        if (segment.magic != MEMORY_SEGMENT_MAGIC)
            return damaged(w, s, "a segment is missing");
        if (bytes > s->end - place - HEAD)
            return damaged(w, s, "a segment is longer than the file");
        if (segment.window >= 0 && (size_t)segment.window < w->m->room &&
            w->m->made[segment.window])
            rc = put_segment(w, s, place, bytes, &segment);
        place = (place + HEAD + bytes + HEAD - 1) & ~(uint64_t)(HEAD - 1);
    }
    return rc;
}

/* Is this a recording of a process whose rank file was split? Rank files keep 63 characters of the
 * program's base name, recordings 500 of its path: the base name may be missing there. */
static bool is_split(const struct split_memory *m, const struct memory_head *h)
{
    char program[sizeof((struct identity){0}.program)];
    bool is_cut = strnlen(h->program, sizeof h->program) >= MEMORY_PROGRAM;
    (void)snprintf(program, sizeof program, "%.63s", identity_base_name(h->program));
    for (size_t i = 0; i < m->process_count; i++)
        if (m->processes[i].pid == h->pid &&
            (is_cut || strcmp(m->processes[i].program, program) == 0))
            return true;
    return false;
}

static int add_source(struct work *w, const char *folder, const char *name)
{
    struct split_source *more = realloc(w->sources, (w->source_count + 1) * sizeof *more);
    if (more == NULL) {
        rt_error_set(w->e, "out of memory");
        return -ENOMEM;
    }
    w->sources = more;
    struct split_source *s = &more[w->source_count];
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    if (!open_source(s, folder)) {
        if (s->fd >= 0)
            (void)close(s->fd);
        return damaged(w, s, "it is no recording of memory accesses");
    }
    if (is_split(w->m, &s->head))
        w->source_count++;
    else
        (void)close(s->fd);
    return 0;
}

/* Interrupted recordings come before those of the handlers that interrupted them. */
static int by_level(const void *a, const void *b)
{
    const struct split_source *x = a, *y = b;
    if (x->head.level != y->head.level)
        return x->head.level < y->head.level ? -1 : 1;
    return strcmp(x->name, y->name);
}

int split_memory(struct split_memory *m, struct rt_error *e)
{
    char folder[PATH_MAX];
    struct work *w = calloc(1, sizeof *w);
    if (w == NULL || snprintf(folder, sizeof folder, "%s/" MEMORY_FOLDER, m->dir) >= PATH_MAX) {
        free(w);
        rt_error_set(e, "out of memory, or the name of the run's folder is too long");
        return -ENOMEM;
    }
    w->m = m;
    w->e = e;
    int rc = 0;
    DIR *d = opendir(folder);
    for (struct dirent *entry; d != NULL && rc == 0 && (entry = readdir(d)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, ".rec") == 0)
            rc = add_source(w, folder, entry->d_name);
    }
    if (d != NULL)
        (void)closedir(d);
    if (w->source_count > 1)
        qsort(w->sources, w->source_count, sizeof *w->sources, by_level);
    for (size_t i = 0; i < w->source_count; i++) {
        rc = rc == 0 ? split_source(w, &w->sources[i]) : rc;
        (void)close(w->sources[i].fd);
    }
    free(w->sources);
    free(w->moved);
    free(w);
    return rc;
}
