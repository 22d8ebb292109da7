/* SPDX-License-Identifier: BSD-3-Clause
 * Takes plans from the user's cache without starting regtrace-isa. regtrace-isa writes that
 * cache. */
#include "preload/patch/plans/probe_plans.h"

#include "base/toolkit/cache.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct cache cache = {.lock = -1};
static int claim = -1;

void probe_kept_prepare(void)
{
    cache_open(&cache, NULL);
}

/* Static, because the program's stack may be small. Callers look up one question at a time. */
static char path[PATH_MAX];

static bool find_path(const struct probe_question *q)
{
    return cache_path_for(&cache, q->image->id, q->image->bytes, ISA_PLAN_VERSION, q->request,
                          strlen(q->request), "sites", path);
}

bool probe_kept_find(const struct probe_question *q, struct probe_answer *a)
{
    size_t n;
    const void *bytes = find_path(q) ? cache_map(path, &n) : NULL;
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
    if (find_path(q))
        claim = cache_claim(&cache, path);
}

void probe_kept_release(void)
{
    if (claim >= 0)
        (void)close(claim);
    claim = -1;
}
