/* SPDX-License-Identifier: BSD-3-Clause
 * Caches plans in a folder. Cached plans patch programs: they must belong to this user, and be
 * complete. */
#include "isa/plan/plan_cache.h"

#include "isa/plan/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static void id_text(const struct image *m, char text[65])
{
    (void)snprintf(text, 65, "%s", m->file_id);
    for (unsigned i = 0; i < m->build_id_bytes; i++)
        (void)snprintf(text + (size_t)2 * i, 3, "%02x", m->build_id[i]);
}

bool cache_path_of(const struct cache *c, const struct image *m, const char *key, size_t bytes,
                   const char *kind, char path[PATH_MAX])
{
    char id[65];
    if (c->folder[0] == '\0')
        return false; /* no cache; --instruction has no image either */
    id_text(m, id);
    return cache_path_for(c, id, m->bytes, ISA_PLAN_VERSION, key, bytes, kind, path);
}

bool cache_path(const struct cache *c, const struct image *m, const char *request,
                char path[PATH_MAX])
{
    return cache_path_of(c, m, request, strlen(request), "sites", path);
}

bool cache_has(const char *path, const struct image *m, const char *request)
{
    size_t n;
    const void *bytes = cache_map(path, &n);
    if (bytes == NULL)
        return false;
    bool whole = plan_is_whole(bytes, n, m, request);
    (void)munmap((void *)bytes, n); /* NOLINT: munmap() takes no const pointer */
    return whole;
}

void cache_lock(struct cache *c, const struct image *m)
{
    char id[65], path[PATH_MAX];
    if (c->folder[0] == '\0')
        return;
    id_text(m, id);
    (void)snprintf(path, sizeof path, "%s/%s.lock", c->folder, id);
    c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* On file systems without locks, each process makes its own plans. */
    while (c->lock >= 0 && flock(c->lock, LOCK_EX) != 0 && errno == EINTR)
        continue;
}

void cache_unlock(struct cache *c)
{
    if (c->lock >= 0)
        (void)close(c->lock);
    c->lock = -1;
}
