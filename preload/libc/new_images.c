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
#include "preload/images/image_records.h"
#include "preload/libc/interpose.h"
#include "preload/images/seen_images.h"
#include "preload/process.h"
#include "preload/stack/call_walk.h"
#include "preload/stack/with_room.h"
#include "preload/window/parts.h"
#include "preload/window/triggers.h"

#include "base/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

static struct seen_images seen;
/* dl_iterate_phdr(3): how many images had been loaded when a look last found nothing new */
static _Atomic unsigned long long last_adds;

/* A look for new images, and the one that it found. Copies the image's name, which may go away when
 * the loader's lock is released. */
struct look {
    bool notify, found;
    unsigned long long adds;
    struct image_facts facts;
    char build_id[IMAGE_ID_TEXT];
    char path[PATH_MAX];
};

/* Stops at the first new image, and at once if none was loaded since the last look. */
static bool visit(const struct loaded_image *m, void *context)
{
    struct look *l = context;
    if (m->is_program) {
        l->adds = m->info->dlpi_adds;
        if (l->adds == atomic_load(&last_adds))
            return true;
    }
    if (seen_images_have(&seen, m) || !seen_images_add(&seen, m) || !l->notify)
        return false;
    l->found = true;
    image_build_id(m->info, l->build_id);
    (void)strncpy(l->path, m->path, sizeof l->path - 1);
    l->facts = (struct image_facts){m->bias, m->from, m->to, l->path, l->build_id};
    return true;
}

/* Reports all new images. Another thread may load an image after the last walk; that thread then
 * looks itself. */
static void images_look(void *notify)
{
    struct look l;
    l.adds = 0;
    if (seen_images_forget(&seen))
        images_end_gone(call_walk_forget);
    for (;;) {
        l.notify = *(const bool *)notify;
        l.found = false;
        memset(l.path, 0, sizeof l.path);
        (void)images_each(visit, &l);
        if (!l.found)
            break;
        trigger_image_loaded(&l.facts);
    }
    atomic_store(&last_adds, l.adds);
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
