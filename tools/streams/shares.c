/* SPDX-License-Identifier: BSD-3-Clause
 * Implements shares of a text: each process writes a file of lines and a table of its blocks; the
 * first process joins them. */
#include "tools/streams/shares.h"

#include "base/sys.h"
#include "base/toolkit/array.h"
#include "tools/streams/joint_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY = 1 << 20 };

/* The table: this head, then the end of each own block in the file of lines. */
struct share_table {
    uint64_t lines, blocks; /* blocks: of all processes */
    uint64_t begin;         /* of the first own block, in the file of lines */
    uint64_t own;
};

struct share {
    char name[64], path[PATH_MAX], table_path[PATH_MAX];
    struct share_table table;
    uint64_t *ends;
    size_t room;
    bool no_memory;
};

int share_open(struct share **share, const char *name, struct rt_error *e)
{
    char what[80];
    *share = NULL;
    if (joint_count() == 1)
        return 0;
    struct share *s = calloc(1, sizeof *s);
    if (s == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    (void)snprintf(what, sizeof what, "text-%s", s->name);
    joint_path(s->path, what, joint_number());
    (void)snprintf(what, sizeof what, "lines-%s", s->name);
    joint_path(s->table_path, what, joint_number());
    *share = s;
    return 0;
}

void share_close(struct share *s)
{
    if (s == NULL)
        return;
    free(s->ends);
    free(s);
}

const char *share_path(const struct share *s)
{
    return s->path;
}

bool share_is_own(const struct share *s)
{
    return s == NULL || s->table.blocks % joint_count() == joint_number();
}

static void end_block(struct share *s, uint64_t at)
{
    void *p = array_grown(s->ends, s->table.own, &s->room, sizeof *s->ends);
    s->no_memory |= p == NULL;
    if (p == NULL)
        return;
    s->ends = p;
    s->ends[s->table.own++] = at;
}

void share_next(struct share *s, uint64_t at)
{
    if (s == NULL)
        return;
    if (share_is_own(s))
        end_block(s, at);
    s->table.blocks++;
    if (share_is_own(s) && s->table.own == 0)
        s->table.begin = at;
}

static int write_table(const struct share *s, struct rt_error *e)
{
    char unfinished[PATH_MAX + 16];
    (void)snprintf(unfinished, sizeof unfinished, "%s.unfinished", s->table_path);
    FILE *f = fopen(unfinished, "we");
    bool good = f != NULL && fwrite(&s->table, sizeof s->table, 1, f) == 1 &&
                fwrite(s->ends, sizeof *s->ends, s->table.own, f) == s->table.own;
    if (f != NULL && fclose(f) != 0)
        good = false;
    if (good)
        return joint_is_whole(s->table_path, e);
    rt_error_set(e, "%s cannot be written: %s", unfinished, strerror(errno));
    return -EIO;
}

void share_end(struct share *s, uint64_t at)
{
    if (share_is_own(s))
        end_block(s, at);
    s->table.blocks++;
}

/* --- joining ---------------------------------------------------------------------------------- */

/* The lines of one process. */
struct share_source {
    int fd;
    struct share_table table;
    uint64_t *ends;
    uint64_t next, at; /* next own block, next byte */
};

static int cannot_read(const char *path, struct rt_error *e)
{
    rt_error_set(e, "%s cannot be read: %s", path, errno != 0 ? strerror(errno) : "it is cut");
    return -EIO;
}

static int open_source(const struct share *s, uint32_t number, struct share_source *from,
                       struct rt_error *e)
{
    char what[80], path[PATH_MAX];
    (void)snprintf(what, sizeof what, "lines-%s", s->name);
    int rc = joint_wait(what, number, e);
    if (rc != 0)
        return rc;
    joint_path(path, what, number);
    errno = 0;
    FILE *f = fopen(path, "re");
    bool good = f != NULL && fread(&from->table, sizeof from->table, 1, f) == 1;
    if (good)
        from->ends = calloc(from->table.own + 1, sizeof *from->ends);
    good = good && from->ends != NULL &&
           fread(from->ends, sizeof *from->ends, from->table.own, f) == from->table.own;
    if (f != NULL)
        (void)fclose(f);
    if (!good)
        return cannot_read(path, e);
    if (from->table.blocks != s->table.blocks) {
        rt_error_set(e, "the run has changed while it was read: convert it when it has ended");
        return -EAGAIN;
    }
    (void)snprintf(what, sizeof what, "text-%s", s->name);
    joint_path(path, what, number);
    from->fd = open(path, O_RDONLY | O_CLOEXEC);
    from->at = number == 0 ? 0 : from->table.begin;
    return from->fd >= 0 ? 0 : cannot_read(path, e);
}

/* Copies up to the byte `end` of the source's file; UINT64_MAX: to its end. */
static int copy(const struct share *s, struct share_source *from, uint64_t end, int to, char *room,
                struct rt_error *e)
{
    while (from->at < end) {
        uint64_t left = end - from->at;
        errno = 0;
        ssize_t n = pread(from->fd, room, left < COPY ? (size_t)left : COPY, (off_t)from->at);
        if (n == 0 && end == UINT64_MAX)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return cannot_read(s->name, e);
        int rc = sys_write_all(to, room, (size_t)n);
        if (rc != 0) {
            rt_error_set(e, "%s cannot be written: %s", s->name, strerror(-rc));
            return rc;
        }
        from->at += (uint64_t)n;
    }
    return 0;
}

static int copy_blocks(const struct share *s, struct share_source *sources, int to,
                       struct rt_error *e)
{
    char *room = malloc(COPY);
    int rc = room != NULL ? 0 : -ENOMEM;
    if (rc != 0)
        rt_error_set(e, "no memory");
    for (uint64_t b = 0; rc == 0 && b < s->table.blocks; b++) {
        struct share_source *from = &sources[b % joint_count()];
        if (from->next == from->table.own)
            rc = cannot_read(s->name, e);
        else
            rc = copy(s, from, from->ends[from->next++], to, room, e);
    }
    if (rc == 0)
        rc = copy(s, &sources[0], UINT64_MAX, to, room, e);
    free(room);
    return rc;
}

static int join_to(struct share *s, int to, uint64_t *lines, struct rt_error *e)
{
    struct share_source *sources = calloc(joint_count(), sizeof *sources);
    int rc = sources != NULL ? 0 : -ENOMEM;
    uint32_t opened = 0;
    if (rc != 0)
        rt_error_set(e, "no memory");
    *lines = 0;
    for (; rc == 0 && opened < joint_count(); opened++) {
        sources[opened].fd = -1;
        rc = open_source(s, opened, &sources[opened], e);
        *lines += sources[opened].table.lines;
    }
    if (rc == 0)
        rc = copy_blocks(s, sources, to, e);
    for (uint32_t i = 0; i < opened; i++) {
        free(sources[i].ends);
        if (sources[i].fd >= 0)
            (void)close(sources[i].fd);
    }
    free(sources);
    return rc;
}

int share_join(struct share *s, const char *path, uint64_t *lines, struct rt_error *e)
{
    s->table.lines = *lines;
    if (s->no_memory) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    int rc = write_table(s, e);
    if (rc != 0 || !joint_is_first())
        return rc;
    int to =
        path == NULL ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (to >= 0)
        rc = join_to(s, to, lines, e);
    if (to < 0 || (path != NULL && close(to) != 0 && rc == 0)) {
        rc = -errno;
        rt_error_set(e, "%s: %s", path, strerror(errno));
    }
    return rc;
}
