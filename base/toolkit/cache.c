/* SPDX-License-Identifier: BSD-3-Clause
 * Cached files: their folder, their names, locks, and atomic writes. */
#include "base/toolkit/cache.h"

#include "base/hash.h"
#include "base/toolkit/map.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool is_ours(const struct stat *st)
{
    return (st->st_uid == geteuid() || st->st_uid == 0) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Makes the folder and those above it, each for the user alone. Returns false if the folder cannot
 * be used, or if others may write into it. */
static bool make_folder(char *path)
{
    struct stat st;
    for (char *p = path + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
    (void)mkdir(path, 0700);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && is_ours(&st) && access(path, W_OK) == 0;
}

/* Sets c->folder. Returns false if the path is too long. */
static bool set_folder(struct cache *c, const char *parent, const char *name)
{
    int n = snprintf(c->folder, sizeof c->folder, "%s%s", parent, name);
    return n > 0 && (size_t)n < sizeof c->folder;
}

/* Makes the cache's folder. `parent` may be NULL or relative: then there is none. */
static bool open_below(struct cache *c, const char *parent, const char *name)
{
    return parent != NULL && parent[0] == '/' && set_folder(c, parent, name) &&
           make_folder(c->folder);
}

/* Opens the user's own cache in the home folder. */
static bool open_at_home(struct cache *c)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    return xdg != NULL && xdg[0] == '/' ? open_below(c, xdg, "/regtrace")
                                        : open_below(c, getenv("HOME"), "/.cache/regtrace");
}

/* Opens the user's own cache among the temporary files of this node. Others may create folders
 * there, so a folder or link of anybody else is refused. */
static bool open_among_temporary(struct cache *c)
{
    const char *folder = getenv("TMPDIR");
    char name[32];
    struct stat st;
    (void)snprintf(name, sizeof name, "/regtrace-%u", (unsigned)geteuid());
    if (!set_folder(c, folder != NULL && folder[0] == '/' ? folder : "/tmp", name))
        return false;
    (void)mkdir(c->folder, 0700);
    return lstat(c->folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           is_ours(&st) && access(c->folder, W_OK) == 0;
}

void cache_open(struct cache *c, const char *folder)
{
    *c = (struct cache){.lock = -1};
    bool opened = folder != NULL ? set_folder(c, folder, "") && make_folder(c->folder)
                                 : open_at_home(c) || open_among_temporary(c);
    if (!opened)
        c->folder[0] = '\0';
}

bool cache_path_for(const struct cache *c, const char *id, uint64_t image_bytes, unsigned version,
                    const void *key, size_t n, const char *kind, char path[PATH_MAX])
{
    uint64_t hash = hash_bytes(HASH_BEGIN ^ version, key, n);
    if (c->folder[0] == '\0' || id[0] == '\0')
        return false;
    /* Stripping removes symbol names but keeps the build id, so the hash includes the size. */
    hash = hash_bytes(hash, &image_bytes, sizeof image_bytes);
    int length = snprintf(path, PATH_MAX, "%s/%s-%016" PRIx64 ".%s", c->folder, id, hash, kind);
    return length > 0 && length < PATH_MAX;
}

void cache_id_of(const struct stat *st, char id[CACHE_ID_ROOM])
{
    uint64_t words[] = {st->st_dev,
                        st->st_ino,
                        (uint64_t)st->st_mtim.tv_sec,
                        (uint64_t)st->st_mtim.tv_nsec,
                        (uint64_t)st->st_ctim.tv_sec,
                        (uint64_t)st->st_ctim.tv_nsec};
    (void)snprintf(id, CACHE_ID_ROOM, "file-%016" PRIx64,
                   hash_bytes(HASH_BEGIN, words, sizeof words));
}

/* Locks one byte of the file `claims` for each path. A record lock belongs to the process, and the
 * kernel releases it when the process ends. */
int cache_claim(const struct cache *c, const char *path)
{
    enum { FIRST_NS = 1000000, MOST_NS = 16000000 };
    int64_t left = INT64_C(10000000000);
    static char name[PATH_MAX]; /* static: the program's stack may be small; callers take turns */
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    l.l_start = (off_t)(hash_bytes(HASH_BEGIN, path, strlen(path)) >> 2);
    int n = snprintf(name, sizeof name, "%s/claims", c->folder);
    int fd = c->folder[0] != '\0' && n > 0 && n < PATH_MAX
                 ? open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    for (int64_t ns = FIRST_NS; fd >= 0 && fcntl(fd, F_SETLK, &l) != 0; left -= ns) {
        if ((errno != EAGAIN && errno != EACCES) || left <= 0) {
            (void)close(fd);
            return -1;
        }
        sys_nap((uint64_t)ns);
        ns = 2 * ns < MOST_NS ? 2 * ns : MOST_NS;
    }
    return fd;
}

const void *cache_map(const char *path, size_t *bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *bytes = 0;
    if (fd < 0)
        return NULL;
    const void *p = fstat(fd, &st) == 0 && is_ours(&st) ? map_fd(fd, bytes) : NULL;
    (void)close(fd);
    return p;
}

bool cache_put(const char *folder, const char *path, const uint8_t *bytes, size_t n)
{
    char part[PATH_MAX];
    int length = snprintf(part, sizeof part, "%s/.part.XXXXXX", folder);
    int fd = length < (int)sizeof part ? mkostemp(part, O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    bool written = sys_write_all(fd, bytes, n) == 0;
    written = close(fd) == 0 && written;
    if (written && rename(part, path) == 0)
        return true;
    (void)unlink(part);
    return false;
}
