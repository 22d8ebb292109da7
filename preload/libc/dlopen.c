/* SPDX-License-Identifier: BSD-3-Clause
 * Notices images that are loaded later, before their code runs.
 *
 * dlopen() has no wrapper: it searches by its return address (RUNPATH, $ORIGIN), which a wrapper
 * would change. But the first instructions of each image's DT_INIT, which come from the C library's
 * crti.o, call __gmon_start__ if some object defines it. That function is for profilers, and this
 * library is one. At the first such call during a dlopen() all its images are mapped and relocated,
 * and none of their constructors has run. An image that was linked without crti.o is noticed when
 * the next image starts, or at dlclose(). Images in namespaces of dlmopen(), which contain a C
 * library of their own, are not seen. */
#include "preload/count/counting.h"
#include "preload/libc/images.h"
#include "preload/libc/interpose.h"
#include "preload/window/parts.h"

#include "base/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define IMAGES_MAX 4096

struct known_image {
    uintptr_t base, headers;
    uint32_t round; /* round of the look that last saw it; 0: entry is free */
};

/* Only visitors of images_each() use these; the dynamic linker serialises them. */
static struct known_image known[IMAGES_MAX];
static unsigned known_count;
static uint32_t look_round;
static unsigned long long last_adds, last_subs;

/* A look for new images, and the one that it found. Copies the image's name, which may go away when
 * the loader's lock is released. */
struct look {
    bool notify, found, changed;
    uintptr_t base;
    char build_id[IMAGE_ID_TEXT];
    char path[PATH_MAX];
};

static struct known_image *find_known(uintptr_t base, uintptr_t headers)
{
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].base == base && known[i].headers == headers && known[i].round != 0)
            return &known[i];
    return NULL;
}

static bool remember(uintptr_t base, uintptr_t headers)
{
    for (unsigned i = 0; i < IMAGES_MAX; i++)
        if (known[i].round == 0) {
            known[i] = (struct known_image){base, headers, look_round};
            known_count = i >= known_count ? i + 1 : known_count;
            return true;
        }
    return false; /* more than IMAGES_MAX: not noticed */
}

/* Stops at the first new image. If there is none it visits them all; visit_end() then forgets those
 * that it has not seen. */
static bool visit(const struct loaded_image *m, void *context)
{
    struct look *l = context;
    if (m->is_program) {
        l->changed = m->info->dlpi_adds != last_adds || m->info->dlpi_subs != last_subs;
        if (!l->changed)
            return true;
        look_round++;
    }
    uintptr_t headers = (uintptr_t)m->info->dlpi_phdr;
    struct known_image *k = find_known(m->bias, headers);
    if (k != NULL) {
        k->round = look_round;
        return false;
    }
    if (!remember(m->bias, headers) || !l->notify)
        return false;
    l->found = true;
    l->base = m->bias;
    image_build_id(m->info, l->build_id);
    (void)strncpy(l->path, m->path, sizeof l->path - 1);
    return true;
}

static bool visit_end(const struct loaded_image *m, void *context)
{
    (void)context;
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].round != look_round)
            known[i].round = 0;
    last_adds = m->info->dlpi_adds;
    last_subs = m->info->dlpi_subs;
    return true;
}

/* Reports all new images. Another thread may load an image between the two walks; that thread then
 * looks itself. */
static void images_look(void *notify)
{
    struct look l;
    for (;;) {
        l.notify = *(const bool *)notify;
        l.found = l.changed = false;
        memset(l.path, 0, sizeof l.path);
        (void)images_each(visit, &l);
        if (!l.found)
            break;
        trigger_image_loaded(l.path, l.base, l.build_id);
    }
    if (l.changed)
        (void)images_each(visit_end, NULL);
}

void images_prepare(void)
{
    bool notify = false;
    images_look(&notify);
}

static bool noticing(void)
{
    return process.traced && processes_vfork_depth == 0 && recorder_self.in_toolkit == 0 &&
           (trigger_wants_images() || recorder_is_on());
}

static void notice_images(void)
{
    int keep = errno;
    if (!noticing())
        return;
    unsigned own = counting_own_begin();
    struct sys_cancel was = sys_cancel_off(); /* symbols are read from files */
    bool notify = true;
    run_with_much_room(images_look, &notify);
    sys_cancel_on(was);
    counting_own_end(own);
    errno = keep;
}

/* The images of the start call this too. Before our constructor nothing is traced; after it none of
 * them is new. */
void __gmon_start__(void);
PRELOAD_EXPORT void __gmon_start__(void)
{
    notice_images();
}

PRELOAD_EXPORT int dlclose(void *handle)
{
    int rc = NEXT(dlclose)(handle);
    notice_images();
    unsigned own = counting_own_begin();
    parts_images_gone();
    counting_own_end(own);
    return rc;
}
