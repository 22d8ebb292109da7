/* SPDX-License-Identifier: BSD-3-Clause
 * Lists the images of this process that can have probes. */
#include "preload/patch/probe_sites.h"

#include "base/toolkit/cache.h"
#include "base/identity.h"
#include "preload/libc/images.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KNOWN_MAX 4096u

/* Images that have been listed. */
static struct known {
    uintptr_t bias, from;
    bool here;
} known[KNOWN_MAX];
static unsigned known_count;

struct image_look {
    struct probe_image *images;
    unsigned count, room; /* without room they are only counted */
    bool began;
};

static unsigned long long last_subs; /* dl_iterate_phdr(3): how many images were unloaded */

static struct known *find_known(uintptr_t bias, uintptr_t from)
{
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].bias == bias && known[i].from == from)
            return &known[i];
    return NULL;
}

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

static void extent(const struct dl_phdr_info *info, uintptr_t *from, uintptr_t *to)
{
    *from = UINTPTR_MAX;
    *to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        *from = at < *from ? at : *from;
        *to = at + p->p_memsz > *to ? at + p->p_memsz : *to;
    }
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

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct image_look *l = context;
    uintptr_t from, to, ours = (uintptr_t)&visit;
    extent(info, &from, &to);
    bool program = !l->began;
    l->began = true;
    const char *path = program ? process.id.executable : info->dlpi_name;
    if (path == NULL || (!program && strchr(path, '/') == NULL) || (ours >= from && ours < to) ||
        find_known(info->dlpi_addr, from) != NULL)
        return 0;
    if (l->images == NULL)
        l->count++;
    if (l->count >= l->room || known_count == KNOWN_MAX)
        return 0;
    known[known_count++] = (struct known){.bias = info->dlpi_addr, .from = from};
    struct probe_image *m = &l->images[l->count++];
    *m = (struct probe_image){.bias = info->dlpi_addr,
                              .from = from,
                              .to = to,
                              .is_program = program,
                              .no_int3 = runs_masked(path),
                              .instrumented = image_is_instrumented(info)};
    (void)snprintf(m->path, sizeof m->path, "%s", path);
    identify(m, info);
    return 0;
}

/* If another thread loads an image between the two walks, that thread looks again itself. */
long probe_images(struct probe_image **images)
{
    struct image_look l = {0};
    *images = NULL;
    (void)dl_iterate_phdr(visit, &l);
    if (l.count == 0)
        return 0;
    l = (struct image_look){.images = calloc(l.count, sizeof *l.images), .room = l.count};
    if (l.images == NULL)
        return -ENOMEM;
    (void)dl_iterate_phdr(visit, &l);
    *images = l.images;
    return l.count;
}

static int read_subs(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(unsigned long long *)context = info->dlpi_subs;
    return 1;
}

static int note_here(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    uintptr_t from, to;
    extent(info, &from, &to);
    struct known *k = find_known(info->dlpi_addr, from);
    if (k != NULL)
        k->here = true;
    return 0;
}

bool probe_images_forget(void)
{
    unsigned n = 0;
    unsigned long long subs = 0;
    (void)dl_iterate_phdr(read_subs, &subs);
    if (subs == last_subs)
        return false;
    last_subs = subs;
    for (unsigned i = 0; i < known_count; i++)
        known[i].here = false;
    (void)dl_iterate_phdr(note_here, NULL);
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].here)
            known[n++] = known[i];
    known_count = n;
    return true;
}
