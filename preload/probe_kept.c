/* SPDX-License-Identifier: BSD-3-Clause
 * Plans that the user's cache has: taken from there without starting regtrace-sites, which keeps
 * them. */
#include "preload/probe_sites.h"

#include "base/cache.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct cache cache = {.lock = -1};
static int claim = -1;

void probe_kept_prepare(void)
{
    cache_open(&cache, NULL);
}

static bool path_of(const struct probe_question *q, char path[PATH_MAX])
{
    return cache_path_for(&cache, q->image->id, q->image->bytes, ISA_PLAN_VERSION, q->request,
                          strlen(q->request), "sites", path);
}

bool probe_kept_find(const struct probe_question *q, struct probe_answer *a)
{
    char path[PATH_MAX];
    size_t n;
    const void *bytes = path_of(q, path) ? cache_map(path, &n) : NULL;
    if (bytes == NULL)
        return false;
    a->plan = isa_plan_read(bytes, n, q->request);
    a->bytes = n;
    if (a->plan == NULL)
        (void)munmap((void *)(uintptr_t)bytes, n);
    for (const char *t = NULL; a->plan != NULL && (t = isa_plan_remark(a->plan, t)) != NULL;)
        (void)snprintf(a->reason, sizeof a->reason, "%.500s", t);
    return a->plan != NULL;
}

void probe_kept_claim(const struct probe_question *q)
{
    char path[PATH_MAX];
    if (path_of(q, path))
        claim = cache_claim(&cache, path);
}

void probe_kept_release(void)
{
    if (claim >= 0)
        (void)close(claim);
    claim = -1;
}
