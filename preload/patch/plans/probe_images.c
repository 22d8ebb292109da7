/* SPDX-License-Identifier: BSD-3-Clause
 * Lists the images of this process that can have probes. */
#include "preload/patch/plans/probe_plans.h"

#include "base/toolkit/cache.h"
#include "base/identity.h"
#include "preload/images/seen_images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct seen_images seen;

struct image_look {
    struct probe_image *images;
    unsigned count, room; /* without room they are only counted */
};

/* Does the image run with all signals blocked at times? An int3 would kill the program then. Such
 * are the C library and the dynamic linker, and libraries that run while the C library gives back
 * the memory of a thread that ends: UCX, Open MPI and libfabric patch munmap and madvise for their
 * own use, allocators replace free. */
static bool runs_masked(const char *path)
{
    static const char *const names[] = {"libc.so",    "libc-",     "libpthread",  "ld-linux",
                                        "ld-",        "libucm.so", "libucs.so",   "libopen-pal",
                                        "mca_rcache", "libfabric", "libjemalloc", "libtcmalloc",
                                        "libmimalloc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(identity_base_name(path), names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Sets the id by which the cache of plans knows the image. */
static void identify(struct probe_image *m, const struct dl_phdr_info *info)
{
    struct stat st;
    if (stat(m->path, &st) != 0)
        return;
    m->bytes = (uint64_t)st.st_size;
    image_build_id(info, m->id);
    if (m->id[0] == '\0')
        cache_id_of(&st, m->id);
}

static bool visit(const struct loaded_image *m, void *context)
{
    struct image_look *l = context;
    uintptr_t ours = (uintptr_t)&visit;
    if ((!m->is_program && strchr(m->path, '/') == NULL) || (ours >= m->from && ours < m->to) ||
        seen_images_have(&seen, m))
        return false;
    if (l->images == NULL)
        l->count++;
    if (l->count >= l->room || !seen_images_add(&seen, m))
        return false;
    struct probe_image *p = &l->images[l->count++];
    *p = (struct probe_image){.bias = m->bias,
                              .from = m->from,
                              .to = m->to,
                              .is_program = m->is_program,
                              .no_int3 = runs_masked(m->path),
                              .instrumented = image_is_instrumented(m->info)};
    (void)snprintf(p->path, sizeof p->path, "%s", m->path);
    identify(p, m->info);
    return false;
}

/* If another thread loads an image between the two walks, that thread looks again itself. */
long probe_images(struct probe_image **images)
{
    struct image_look l = {0};
    *images = NULL;
    (void)images_each(visit, &l);
    if (l.count == 0)
        return 0;
    l = (struct image_look){.images = calloc(l.count, sizeof *l.images), .room = l.count};
    if (l.images == NULL)
        return -ENOMEM;
    (void)images_each(visit, &l);
    *images = l.images;
    return l.count;
}

bool probe_images_forget(void)
{
    return seen_images_forget(&seen);
}
