/* SPDX-License-Identifier: BSD-3-Clause
 * See cache.h. */
#include "base/cache.h"

#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

uint64_t cache_hash(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
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
