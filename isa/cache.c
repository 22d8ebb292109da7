/* SPDX-License-Identifier: BSD-3-Clause
 * Plans kept in a folder. What is found there patches programs: it must be this user's, and whole. */
#include "isa/cache.h"

#include "base/sys.h"
#include "isa/site.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const struct stat *st)
{
    return (st->st_uid == geteuid() || st->st_uid == 0) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The folder and those above it, each for the user alone. */
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

void cache_open(struct cache *c, const char *folder)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    *c = (struct cache){.lock = -1};
    if (folder != NULL)
        n = snprintf(c->folder, sizeof c->folder, "%s", folder);
    else if (xdg != NULL && xdg[0] == '/')
        n = snprintf(c->folder, sizeof c->folder, "%s/regtrace", xdg);
    else if (home != NULL && home[0] == '/')
        n = snprintf(c->folder, sizeof c->folder, "%s/.cache/regtrace", home);
    if (n <= 0 || (size_t)n >= sizeof c->folder || !make_folder(c->folder))
        c->folder[0] = '\0';
}

static void build_id_text(const struct image *m, char text[65])
{
    text[0] = '\0';
    for (unsigned i = 0; i < m->build_id_bytes; i++)
        (void)snprintf(text + (size_t)2 * i, 3, "%02x", m->build_id[i]);
}

bool cache_path_of(const struct cache *c, const struct image *m, const char *key, size_t bytes,
                   const char *kind, char path[PATH_MAX])
{
    char id[65];
    uint64_t hash = UINT64_C(14695981039346656037) ^ ISA_PLAN_VERSION; /* FNV-1a */
    if (c->folder[0] == '\0' || m->build_id_bytes == 0)
        return false;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)key[i]) * UINT64_C(1099511628211);
    build_id_text(m, id);
    int n = snprintf(path, PATH_MAX, "%s/%s-%016" PRIx64 ".%s", c->folder, id, hash, kind);
    return n > 0 && n < PATH_MAX;
}

bool cache_path(const struct cache *c, const struct image *m, const char *request,
                char path[PATH_MAX])
{
    return cache_path_of(c, m, request, strlen(request), "sites", path);
}

const void *cache_map(const char *path, size_t *bytes)
{
    struct stat st;
    void *p = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_ours(&st) && st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    *bytes = p != MAP_FAILED ? (size_t)st.st_size : 0;
    return p != MAP_FAILED ? p : NULL;
}

bool cache_has(const char *path, const struct image *m, const char *request)
{
    size_t n;
    const void *bytes = cache_map(path, &n);
    if (bytes == NULL)
        return false;
    bool whole = plan_is_whole(bytes, n, m, request);
    (void)munmap((void *)bytes, n); /* NOLINT: it takes no const */
    return whole;
}

void cache_lock(struct cache *c, const struct image *m)
{
    char id[65], path[PATH_MAX];
    if (c->folder[0] == '\0' || m->build_id_bytes == 0)
        return;
    build_id_text(m, id);
    (void)snprintf(path, sizeof path, "%s/%s.lock", c->folder, id);
    c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Where file systems know no locks, each makes its own. */
    while (c->lock >= 0 && flock(c->lock, LOCK_EX) != 0 && errno == EINTR)
        continue;
}

void cache_unlock(struct cache *c)
{
    if (c->lock >= 0)
        (void)close(c->lock);
    c->lock = -1;
}

bool cache_put(const struct cache *c, const char *path, const uint8_t *bytes, size_t n)
{
    char part[PATH_MAX];
    (void)snprintf(part, sizeof part, "%s/.part.XXXXXX", c->folder);
    int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0)
        return false;
    bool written = sys_write_all(fd, bytes, n) == 0;
    written = close(fd) == 0 && written;
    if (written && rename(part, path) == 0)
        return true;
    (void)unlink(part);
    return false;
}
