/* SPDX-License-Identifier: BSD-3-Clause
 * Finds streams of a run that no entry names, and gives them entries. Source: proc(5). */
#include "writer/repair/unclaimed_streams.h"
#include "writer/stream_facts.h"

#include "base/identity.h"
#include "base/options.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct unclaimed_search {
    const char *dir;
    struct stat folder; /* of the run; its parent if `absent` */
    const char *absent; /* the name of a folder that is not there; NULL: it is there */
    bool wanted;        /* a stream's run was to be written there */
    const struct claim *claims;
    size_t count;
    void (*alive)(void *context, uint32_t pid);
    void *context;
    struct rt_error *e;
    int registered;
};

static bool is_same(const char *path, const struct stat *other)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == other->st_dev && st.st_ino == other->st_ino;
}

/* Returns true if the process has the file open. */
static bool has_open(const char *pid, const struct stat *file)
{
    char path[PATH_MAX];
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *d = opendir(path);
    for (struct dirent *fd; d != NULL && !found && (fd = readdir(d)) != NULL;) {
        (void)snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", pid, fd->d_name);
        found = is_same(path, file);
    }
    if (d != NULL)
        (void)closedir(d);
    return found;
}

static bool is_writer(const char *pid)
{
    char path[64], text[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strcmp(identity_base_name(text), "regtrace-writer") == 0;
}

/* Returns true if a writer of this stream is alive. The traced process starts the writer with the
 * stream as an open descriptor, and then stores the writer's pid in the stream. The process with
 * that pid counts under any name, since REGTRACE_WRITER may name a script. If the traced process
 * was killed before it stored the pid, any regtrace-writer that has the stream open counts. */
static bool writer_lives(const struct stat *file, const struct stream_header *h)
{
    bool found = false;
    uint32_t started = atomic_load(&h->writer_pid);
    DIR *d = opendir("/proc");
    for (struct dirent *e; d != NULL && !found && (e = readdir(d)) != NULL;) {
        uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
        found = isdigit((unsigned char)e->d_name[0]) && pid != h->pid &&
                pid != (uint32_t)getpid() && has_open(e->d_name, file) &&
                (started == 0 || pid == started || is_writer(e->d_name));
    }
    if (d != NULL)
        (void)closedir(d);
    return found;
}

static bool is_claimed(const struct unclaimed_search *s, const struct stat *file)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->claims[i].stream[0] != '\0' && is_same(s->claims[i].stream, file))
            return true;
    return false;
}

static int claim_stream(struct unclaimed_search *s, struct stream *stream)
{
    struct drain drain;
    struct stream_facts facts;
    struct claim c;
    if (drain_init(&drain, stream) != 0)
        return 0;
    int rc = stream_facts_read(&facts, &drain);
    drain_free(&drain);
    if (rc != 0) {
        rt_error_set(s->e, "no memory");
        return rc;
    }
    stream_facts_claim(&c, &facts, stream, s->dir);
    rc = claim_register(&c, s->e);
    s->registered += rc == 0;
    return rc;
}

/* Returns true if the stream is older than the folder: another run was to be written there. */
static bool is_older(const struct unclaimed_search *s, const struct stream *stream)
{
    char path[PATH_MAX + 32];
    struct stat job;
    (void)snprintf(path, sizeof path, "%s/.regtrace/job", s->dir);
    return stat(path, &job) == 0 &&
           stream->header->clock_start.realtime_ns <
               (uint64_t)job.st_mtim.tv_sec * 1000000000u + (uint64_t)job.st_mtim.tv_nsec;
}

/* Returns true if the stream was recorded for the run. A run's folder that was moved has another
 * path, but still the name of its job. A copy of the folder has that name too, so the folder at the
 * stream's path has precedence. Programs that a traced one has started have jobs of their own. */
static bool is_of_run(const struct unclaimed_search *s, const struct stream *stream)
{
    char dir[PATH_MAX] = "";
    struct identity id = {0};
    if (!stream_meta_get(stream, "dir", dir, sizeof dir))
        return false;
    bool named = stream_meta_get(stream, "job", id.job, sizeof id.job);
    bool of_job = named && identity_folder_is_of(s->dir, id.job);
    if (is_same(dir, &s->folder))
        return of_job || !is_older(s, stream);
    return of_job && !identity_folder_is_of(dir, id.job);
}

/* Was the run of this stream to be written into the folder that is not there? */
static bool is_for_absent(const struct unclaimed_search *s, const struct stream *stream)
{
    char dir[PATH_MAX] = "", parent[PATH_MAX];
    if (!stream_meta_get(stream, "dir", dir, sizeof dir))
        return false;
    const char *slash = strrchr(dir, '/');
    if (slash == NULL || strcmp(slash + 1, s->absent) != 0)
        return false;
    (void)snprintf(parent, sizeof parent, "%.*s/", (int)(slash - dir), dir);
    return is_same(parent, &s->folder);
}

/* Looks at the stream `fd`, and closes it. */
static int look_at_stream(struct unclaimed_search *s, int fd)
{
    struct stream stream;
    struct stat file;
    int rc = 0;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != s->folder.st_uid ||
        is_claimed(s, &file) || stream_open(&stream, fd, &(struct rt_error){{0}}) != 0) {
        (void)close(fd);
        return 0;
    }
    bool ours = s->absent == NULL && is_of_run(s, &stream);
    if (s->absent != NULL)
        s->wanted |= is_for_absent(s, &stream) && !writer_lives(&file, stream.header);
    if (ours && writer_lives(&file, stream.header))
        s->alive(s->context, stream.header->pid);
    /* A writer without an entry has not written it yet, or has withdrawn it at its end, just before
     * it removes the stream. */
    else if (ours && atomic_load(&stream.header->writer_state) <= WRITER_READY)
        rc = claim_stream(s, &stream);
    stream_close(&stream);
    return rc;
}

static int look_into(struct unclaimed_search *s, const char *place)
{
    char start[32];
    int n = snprintf(start, sizeof start, "regtrace-%u-", (unsigned)s->folder.st_uid), rc = 0;
    DIR *d = opendir(place);
    for (struct dirent *entry; d != NULL && rc == 0 && (entry = readdir(d)) != NULL;) {
        int fd =
            strncmp(entry->d_name, start, (size_t)n) != 0
                ? -1
                : openat(dirfd(d), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0)
            rc = look_at_stream(s, fd);
    }
    if (d != NULL)
        (void)closedir(d);
    return rc;
}

/* Writes the folder of entry i's stream to `out`. Returns false if it has none, or if an earlier
 * entry has the same folder. */
static bool place_of(const struct unclaimed_search *s, size_t i, char out[PATH_MAX])
{
    const char *stream = s->claims[i].stream, *slash = strrchr(stream, '/');
    size_t n = slash != NULL ? (size_t)(slash + 1 - stream) : 0;
    for (size_t k = 0; k < i; k++)
        if (strncmp(s->claims[k].stream, stream, n) == 0 &&
            strchr(s->claims[k].stream + n, '/') == NULL)
            return false;
    (void)snprintf(out, PATH_MAX, "%.*s", (int)n, stream);
    return n > 0;
}

/* Looks into all folders in which streams of the run may lie. Returns 0 or -errno. */
static int look_everywhere(struct unclaimed_search *s)
{
    const char *usual = option_table[OPT_shm].default_value, *named = getenv("REGTRACE_SHM");
    char place[PATH_MAX];
    struct stat first = {0}, second = {0};
    int rc = look_into(s, usual);
    (void)!stat(usual, &first);
    if (rc == 0 && named != NULL && !is_same(named, &first)) {
        rc = look_into(s, named);
        (void)!stat(named, &second);
    }
    for (size_t i = 0; i < s->count && rc == 0; i++)
        if (place_of(s, i, place) && !is_same(place, &first) && !is_same(place, &second))
            rc = look_into(s, place);
    return rc;
}

int unclaimed_register(const char *dir, const struct claim *claims, size_t count,
                       void (*alive)(void *context, uint32_t pid), void *context,
                       struct rt_error *e)
{
    struct unclaimed_search s = {
        .dir = dir, .claims = claims, .count = count, .alive = alive, .context = context, .e = e};
    if (stat(dir, &s.folder) != 0)
        return 0;
    int rc = look_everywhere(&s);
    return rc != 0 ? rc : s.registered;
}

bool unclaimed_make_folder(const char *dir)
{
    char path[PATH_MAX];
    size_t n = (size_t)snprintf(path, sizeof path, "%s", dir);
    while (n < sizeof path && n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    char *slash = strrchr(path, '/');
    struct unclaimed_search s = {.dir = dir, .absent = slash != NULL ? slash + 1 : path};
    char parent[PATH_MAX] = ".";
    if (slash != NULL)
        (void)snprintf(parent, sizeof parent, "%.*s/", (int)(slash - path), path);
    if (n >= sizeof path || stat(parent, &s.folder) != 0)
        return false;
    s.folder.st_uid = geteuid();
    return look_everywhere(&s) == 0 && s.wanted && mkdir(dir, 0777) == 0;
}
