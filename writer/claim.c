/* SPDX-License-Identifier: BSD-3-Clause
 * Claims, hands over and gives back the file names of a run, under a lock in DIR/.regtrace. */
#include "writer/claim.h"

#include "base/identity.h"
#include "base/toolkit/map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAMS_MAX 10000 /* programs that one process may become, by exec, in a run */
#define LOCK_TRIES 100     /* some file systems change a file's inode number each time */

static const char *const state_names[] = {"waiting", "open", "closed", "failed", "recovered"};

static int side_path(char out[PATH_MAX], const struct claim *c, const char *prefix,
                     const char *name, const char *suffix)
{
    int n = snprintf(out, PATH_MAX, "%s/.regtrace/%s%s%s", c->dir, prefix, name, suffix);
    return n > 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int read_text(const char *path, char *text, size_t room)
{
    int fd = open_regular(path);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, room - 1);
    int rc = n < 0 ? -errno : 0;
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return rc;
}

/* Replaces the file by rename(2), so that readers see either the old text or the new one. */
static int write_text(const struct claim *c, const char *path, const char *text)
{
    char temporary[PATH_MAX];
    int rc = side_path(temporary, c, "tmp.", c->key, "");
    if (rc != 0)
        return rc;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    size_t n = strlen(text);
    ssize_t w = write(fd, text, n);
    rc = w == (ssize_t)n ? 0 : w < 0 ? -errno : -ENOSPC;
    if (close(fd) != 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(temporary, path) != 0)
        rc = -errno;
    if (rc != 0)
        (void)unlink(temporary);
    return rc;
}

static int put_entry(const struct claim *c)
{
    char path[PATH_MAX], text[2 * PATH_MAX];
    int rc = side_path(path, c, "", c->key, ".entry");
    if (rc != 0)
        return rc;
    const struct claim_summary *y = &c->summary;
    (void)snprintf(text, sizeof text,
                   "file=%s\nhost=%s\nboot_id=%s\nprogram=%s\nstream=%s\nrank=%d\nsize=%d\nmpi=%d\n"
                   "child=%d\nworld=%u\npid=%u\npid_start_time=%" PRIu64
                   "\nwriter_pid=%u\nwriter_start_time=%" PRIu64 "\nstate=%s\nevents=%" PRIu64 "\n",
                   c->file, c->host, c->boot_id, c->program, c->stream, c->rank, c->size, c->mpi,
                   c->child, c->world, c->pid, c->pid_start_time, c->writer_pid,
                   c->writer_start_time, state_names[c->state], c->events);
    size_t n = strlen(text);
    if (y->file_bytes != 0)
        (void)snprintf(
            text + n, sizeof text - n,
            "checksum=%" PRIu64 "\nfired=%" PRIu64 "\nwindows=%" PRIu64 "\nthreads=%" PRIu64
            "\nfile_bytes=%" PRIu64 "\nfile_mtime_ns=%" PRIu64 "\nclock_ticks0=%" PRIu64
            "\nclock_ns0=%" PRId64 "\nclock_offset_ns=%" PRId64 "\nns_per_tick=%a\nend_reason=%s\n",
            y->checksum, y->fired, y->windows, y->threads, y->file_bytes, y->file_mtime_ns,
            y->clock_ticks0, y->clock_ns0, y->clock_offset_ns, y->ns_per_tick, y->end_reason);
    return write_text(c, path, text);
}

#define IS(k) (strcmp(key, k) == 0)

static void take_summary(struct claim_summary *y, const char *key, const char *value)
{
    if (IS("checksum"))
        y->checksum = strtoull(value, NULL, 10);
    else if (IS("fired"))
        y->fired = strtoull(value, NULL, 10);
    else if (IS("windows"))
        y->windows = strtoull(value, NULL, 10);
    else if (IS("threads"))
        y->threads = strtoull(value, NULL, 10);
    else if (IS("file_bytes"))
        y->file_bytes = strtoull(value, NULL, 10);
    else if (IS("file_mtime_ns"))
        y->file_mtime_ns = strtoull(value, NULL, 10);
    else if (IS("clock_ticks0"))
        y->clock_ticks0 = strtoull(value, NULL, 10);
    else if (IS("clock_ns0"))
        y->clock_ns0 = strtoll(value, NULL, 10);
    else if (IS("clock_offset_ns"))
        y->clock_offset_ns = strtoll(value, NULL, 10);
    else if (IS("ns_per_tick"))
        y->ns_per_tick = strtod(value, NULL);
    else if (IS("end_reason"))
        (void)snprintf(y->end_reason, sizeof y->end_reason, "%s", value);
}

static void take_field(struct claim *c, const char *key, const char *value)
{
    if (IS("file"))
        (void)snprintf(c->file, sizeof c->file, "%s", value);
    else if (IS("host"))
        (void)snprintf(c->host, sizeof c->host, "%s", value);
    else if (IS("boot_id"))
        (void)snprintf(c->boot_id, sizeof c->boot_id, "%s", value);
    else if (IS("program"))
        (void)snprintf(c->program, sizeof c->program, "%s", value);
    else if (IS("stream"))
        (void)snprintf(c->stream, sizeof c->stream, "%s", value);
    else if (IS("rank"))
        c->rank = (int32_t)strtol(value, NULL, 10);
    else if (IS("size"))
        c->size = (int32_t)strtol(value, NULL, 10);
    else if (IS("mpi"))
        c->mpi = value[0] == '1';
    else if (IS("child"))
        c->child = value[0] == '1';
    else if (IS("world"))
        c->world = (uint32_t)strtoul(value, NULL, 10);
    else if (IS("pid"))
        c->pid = (uint32_t)strtoul(value, NULL, 10);
    else if (IS("pid_start_time"))
        c->pid_start_time = strtoull(value, NULL, 10);
    else if (IS("writer_pid"))
        c->writer_pid = (uint32_t)strtoul(value, NULL, 10);
    else if (IS("writer_start_time"))
        c->writer_start_time = strtoull(value, NULL, 10);
    else if (IS("events"))
        c->events = strtoull(value, NULL, 10);
    else if (IS("state")) {
        for (int i = 0; i < (int)(sizeof state_names / sizeof state_names[0]); i++)
            if (strcmp(value, state_names[i]) == 0)
                c->state = (enum claim_state)i;
    } else
        take_summary(&c->summary, key, value);
}
#undef IS

/* Reads the entry of c->key in c->dir. Returns 0 or -errno; -ENODATA: it is reserved and not yet
 * written. */
static int get_entry(struct claim *c)
{
    char path[PATH_MAX], text[2 * PATH_MAX];
    int rc = side_path(path, c, "", c->key, ".entry");
    if (rc == 0)
        rc = read_text(path, text, sizeof text);
    if (rc == 0 && text[0] == '\0')
        rc = -ENODATA;
    if (rc != 0)
        return rc;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *value = strchr(line, '=');
        if (value != NULL) {
            *value++ = '\0';
            take_field(c, line, value);
        }
    }
    return strchr(c->file, '/') != NULL ? -EPROTO : 0;
}

/* Returns true if `path` still names the locked file. A process that removes an empty folder
 * removes the lock file too (empty_folder.c). */
static bool is_current(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

int claim_lock(const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/.regtrace/lock", dir);
    int rc = n > 0 && n < (int)sizeof path ? 0 : -ENAMETOOLONG;
    for (int tries = 0; rc == 0; tries++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return -errno;
        while (rc == 0 && flock(fd, LOCK_EX) != 0)
            rc = errno == EINTR ? 0 : -errno;
        if (rc == 0 && (is_current(fd, path) || tries == LOCK_TRIES))
            return fd;
        (void)close(fd);
    }
    return rc;
}

/* Adds `change` to the number of open files, which the lock file itself holds, and returns it. */
static long count_open(int fd, long change)
{
    char text[32];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    long count = strtol(text, NULL, 10) + change;
    if (change != 0) {
        int m = snprintf(text, sizeof text, "%ld\n", count);
        if (ftruncate(fd, 0) == 0)
            (void)!pwrite(fd, text, (size_t)m, 0);
    }
    return count;
}

/* Reserves the key if it is free, by an empty entry, which readers skip. */
static int reserve(const struct claim *c)
{
    char path[PATH_MAX];
    int rc = side_path(path, c, "", c->key, ".entry");
    int fd = rc == 0 ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        (void)close(fd);
    return rc != 0 ? rc : fd >= 0 ? 0 : -errno;
}

/* exec keeps the pid and the start time, so the next program of the process needs another key, and
 * the writers of both programs may start at the same time. This does not take the lock: a process
 * that removes an empty folder would rarely let us have it. */
static int register_key(struct claim *c)
{
    char path[PATH_MAX];
    (void)snprintf(c->key, sizeof c->key, "%s-%u-%" PRIu64, c->host, c->pid, c->pid_start_time);
    int rc = reserve(c);
    for (int i = 1; rc == -EEXIST && i < PROGRAMS_MAX; i++) {
        (void)snprintf(c->key, sizeof c->key, "%s-%u-%" PRIu64 "-%d", c->host, c->pid,
                       c->pid_start_time, i);
        rc = reserve(c);
    }
    if (rc != 0)
        return rc;
    rc = put_entry(c);
    if (rc != 0 && side_path(path, c, "", c->key, ".entry") == 0)
        (void)unlink(path);
    return rc;
}

int claim_register(struct claim *c, struct rt_error *e)
{
    char path[PATH_MAX];
    int rc = side_path(path, c, "", "", "");
    if (rc == 0 && mkdir(path, 0777) != 0 && errno != EEXIST)
        rc = -errno;
    if (rc == 0)
        rc = register_key(c);
    if (rc != 0)
        rt_error_set(e, "cannot write into %s/.regtrace: %s", c->dir, strerror(-rc));
    return rc;
}

/* Reads the entry of the process that holds a name. Returns 0, -ENOENT if none does, or another
 * -errno. */
static int holder_of(const struct claim *c, const char *file, struct claim *holder)
{
    char path[PATH_MAX], key[160];
    int rc = side_path(path, c, "name.", file, "");
    if (rc == 0)
        rc = read_text(path, key, sizeof key);
    if (rc != 0)
        return rc;
    key[strcspn(key, "\n")] = '\0';
    *holder = (struct claim){.rank = -1};
    memcpy(holder->dir, c->dir, sizeof holder->dir);
    (void)snprintf(holder->key, sizeof holder->key, "%s", key);
    return get_entry(holder);
}

/* Writes rank-NNNNN.PID.N.h5, with the first N that is free. */
static int spare_name(const struct claim *c, char out[80])
{
    char path[PATH_MAX];
    for (int n = 0; n < 10000; n++) {
        (void)snprintf(out, 80, "rank-%05d.%u.%d.h5", c->rank < 0 ? 0 : c->rank, c->pid, n);
        int rc = side_path(path, c, "name.", out, "");
        if (rc != 0)
            return rc;
        if (access(path, F_OK) != 0)
            return 0;
    }
    return -EEXIST;
}

/* Gives `c` the free name `file`: writes the name file and the entry, and renames the HDF5 file if
 * it exists. */
static int hold(struct claim *c, const char *file)
{
    char path[PATH_MAX], from[PATH_MAX], to[PATH_MAX], old[80], line[176];
    (void)snprintf(old, sizeof old, "%s", c->file);
    (void)snprintf(line, sizeof line, "%s\n", c->key);
    int rc = side_path(path, c, "name.", file, "");
    if (rc == 0)
        rc = write_text(c, path, line);
    if (rc != 0)
        return rc;
    if (old[0] != '\0') {
        (void)snprintf(from, sizeof from, "%s/%s", c->dir, old);
        (void)snprintf(to, sizeof to, "%s/%s", c->dir, file);
        if (rename(from, to) != 0 && errno != ENOENT)
            rc = -errno;
        if (rc == 0 && side_path(from, c, "name.", old, "") == 0)
            (void)unlink(from);
        if (rc != 0) {
            (void)unlink(path);
            return rc;
        }
    }
    (void)snprintf(c->file, sizeof c->file, "%s", file);
    return put_entry(c);
}

static bool comes_before(const struct claim *c, const struct claim *holder)
{
    return c->mpi != holder->mpi ? c->mpi : !c->child && holder->child;
}

static int take_locked(struct claim *c)
{
    char wanted[80], spare[80];
    (void)snprintf(wanted, sizeof wanted, "rank-%05d.h5", c->rank < 0 ? 0 : c->rank);
    if (strcmp(wanted, c->file) == 0)
        return put_entry(c);
    struct claim holder;
    bool spawned = c->world > 1;
    int rc = spawned ? 0 : holder_of(c, wanted, &holder);
    /* A writer on a full disk may have claimed the name and could not note it in its entry. */
    if (rc == -ENOENT || (!spawned && rc == 0 && strcmp(holder.key, c->key) == 0))
        return hold(c, wanted);
    if (rc != 0)
        return rc;
    if (!spawned && comes_before(c, &holder)) {
        rc = spare_name(&holder, spare);
        if (rc == 0)
            rc = hold(&holder, spare);
        return rc == 0 ? hold(c, wanted) : rc;
    }
    int rank = c->rank < 0 ? 0 : c->rank;
    char prefix[16];
    int n = snprintf(prefix, sizeof prefix, "rank-%05d.", rank);
    if (strncmp(c->file, prefix, (size_t)n) == 0)
        return put_entry(c); /* it is named as a further process of that rank already */
    rc = spare_name(c, spare);
    return rc == 0 ? hold(c, spare) : rc;
}

/* Call with the lock held. Reads our name again, since another process may have renamed our file.
 * If there is no entry, the name stays. */
static int reread_name(struct claim *c)
{
    struct claim now = *c;
    int rc = get_entry(&now);
    if (rc == 0)
        memcpy(c->file, now.file, sizeof c->file);
    return rc;
}

int claim_take(struct claim *c, struct rt_error *e)
{
    int fd = claim_lock(c->dir);
    int rc = fd < 0 ? fd : 0;
    bool first = c->file[0] == '\0';
    if (rc == 0) {
        if (first)
            c->state = CLAIM_OPEN;
        else
            (void)reread_name(c);
        rc = take_locked(c);
        if (rc == 0 && first)
            (void)count_open(fd, 1);
        (void)close(fd);
    }
    if (rc != 0)
        rt_error_set(e, "cannot claim a file name in %s: %s", c->dir, strerror(-rc));
    return rc;
}

int claim_new_path(const struct claim *c, char out[PATH_MAX])
{
    return side_path(out, c, "new.", c->key, "");
}

int claim_values_path(const struct claim *c, char out[PATH_MAX])
{
    return side_path(out, c, "values.", c->key, "");
}

int claim_publish(struct claim *c)
{
    char from[PATH_MAX], to[PATH_MAX];
    int fd = claim_lock(c->dir);
    if (fd < 0)
        return fd;
    int rc = reread_name(c);
    if (rc == 0)
        rc = claim_new_path(c, from);
    if (rc == 0 && snprintf(to, sizeof to, "%s/%s", c->dir, c->file) >= (int)sizeof to)
        rc = -ENAMETOOLONG;
    if (rc == 0 && rename(from, to) != 0)
        rc = -errno;
    (void)close(fd);
    return rc;
}

int claim_refresh(struct claim *c)
{
    int fd = claim_lock(c->dir);
    if (fd < 0)
        return fd;
    int rc = reread_name(c);
    (void)close(fd);
    return rc;
}

int claim_finish(struct claim *c, enum claim_state state, uint64_t events, bool *last)
{
    *last = false;
    int fd = claim_lock(c->dir);
    if (fd < 0)
        return fd;
    (void)reread_name(c);
    bool was_open = c->state == CLAIM_OPEN;
    c->state = state;
    c->events = events;
    int rc = put_entry(c);
    *last = count_open(fd, was_open ? -1 : 0) <= 0;
    (void)close(fd);
    return rc;
}

void claim_withdraw(struct claim *c)
{
    char path[PATH_MAX];
    int fd = claim_lock(c->dir);
    if (c->file[0] != '\0' && side_path(path, c, "name.", c->file, "") == 0)
        (void)unlink(path);
    if (side_path(path, c, "", c->key, ".entry") == 0)
        (void)unlink(path);
    if (fd >= 0) {
        if (c->state == CLAIM_OPEN)
            (void)count_open(fd, -1);
        (void)close(fd);
    }
}

int claim_each(const char *dir, void (*visit)(void *context, const struct claim *c), void *context)
{
    struct claim c = {.rank = -1};
    char path[PATH_MAX];
    if (snprintf(c.dir, sizeof c.dir, "%s", dir) >= (int)sizeof c.dir)
        return -ENAMETOOLONG;
    int rc = side_path(path, &c, "", "", "");
    DIR *d = rc == 0 ? opendir(path) : NULL;
    if (d == NULL)
        return rc != 0 ? rc : -errno;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        size_t n = strlen(entry->d_name);
        if (n <= 6 || n - 6 >= sizeof c.key || strcmp(entry->d_name + n - 6, ".entry") != 0)
            continue;
        struct claim one = {.rank = -1, .size = -1};
        memcpy(one.dir, c.dir, sizeof one.dir);
        (void)snprintf(one.key, sizeof one.key, "%.*s", (int)(n - 6), entry->d_name);
        if (get_entry(&one) == 0)
            visit(context, &one);
    }
    (void)closedir(d);
    return 0;
}

int claim_reload(struct claim *c)
{
    struct claim now = {.rank = -1, .size = -1};
    memcpy(now.dir, c->dir, sizeof now.dir);
    memcpy(now.key, c->key, sizeof now.key);
    int rc = get_entry(&now);
    if (rc == 0)
        *c = now;
    return rc;
}
