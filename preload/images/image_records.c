/* SPDX-License-Identifier: BSD-3-Clause
 * Notes and records loaded images: the path, the load address, and the build id that tells an image
 * from another one of that name. */
#include "preload/images/image_records.h"

#include "base/log.h"
#include "base/spin.h"
#include "base/sys.h"
#include "preload/count/sampling.h"
#include "preload/libc/interpose.h"
#include "preload/process.h"
#include "preload/thread.h"

#include <string.h>
#include <unistd.h>

#define IMAGES_MAX 4096
#define IMAGE_PATH 447

/* Written in the constructor and after each dlopen(). Signal handlers read it, so image_count is
 * stored last. */
static struct noted_image {
    uintptr_t base, from, to;
    _Atomic bool is_gone; /* it is not loaded any more */
    char build_id[IMAGE_ID_TEXT];
    char path[IMAGE_PATH];
} images[IMAGES_MAX];
static _Atomic uint32_t image_count;
static spin_lock image_lock;
/* number of images that this process's stream has */
static _Atomic uint32_t images_recorded;

static void record_one(struct recorder_thread *t, const char *path, uintptr_t base,
                       const char *build_id)
{
    uint64_t more[3] = {stream_string_id(&recorder_stream, build_id)};
    (void)recorder_emit_long(t, EV_IMAGE, stream_string_id(&recorder_stream, path), base, more, 1);
}

struct own_code {
    uintptr_t from, to;
};

static bool find_own_code(const struct loaded_image *m, void *context)
{
    struct own_code *own = context;
    uintptr_t ours = (uintptr_t)&find_own_code;
    for (int next = 0; image_code(m, &next, &own->from, &own->to);)
        if (ours - own->from < own->to - own->from)
            return true;
    return false;
}

bool images_own_code(uintptr_t *from, uintptr_t *to)
{
    struct own_code own = {0, 0};
    bool found = images_each(find_own_code, &own);
    *from = found ? own.from : 0;
    *to = found ? own.to : 0;
    return found;
}

bool images_are_recorded(void)
{
    return sampling_is_on() || process.options.number[OPT_functions] != 0;
}

/* Copies the path. Readers of the names run in another folder, so this makes a path absolute that
 * dlopen() got relative to this folder. Returns false if the result does not fit. */
static bool copy_path(char out[IMAGE_PATH], const char *path)
{
    size_t n = 0;
    out[0] = '\0';
    if (path[0] != '/' && strchr(path, '/') != NULL && getcwd(out, IMAGE_PATH) == out &&
        out[0] == '/') {
        n = strlen(out);
        n -= n == 1; /* the folder is "/" */
        out[n++] = '/';
        while (path[0] == '.' && path[1] == '/')
            for (path++; path[0] == '/';)
                path++;
    }
    bool fits = n + strlen(path) < IMAGE_PATH;
    if (fits)
        memcpy(out + n, path, strlen(path) + 1);
    return fits;
}

/* Returns the latest note of an image at some of these addresses, or NULL. */
static struct noted_image *note_at(uintptr_t from, uintptr_t to)
{
    uint32_t i = atomic_load(&image_count);
    while (i > 0 && (images[i - 1].from >= to || images[i - 1].to <= from))
        i--;
    return i > 0 ? &images[i - 1] : NULL;
}

static bool is_same(const struct noted_image *a, const struct noted_image *b)
{
    return a != NULL && !atomic_load(&a->is_gone) && a->base == b->base &&
           strcmp(a->build_id, b->build_id) == 0 && strcmp(a->path, b->path) == 0;
}

void image_note(const struct image_facts *m)
{
    if (m->path[0] == '\0')
        return;
    uint64_t mask = sys_block_signals();
    spin_take(&image_lock);
    uint32_t n = atomic_load(&image_count);
    struct noted_image *had = note_at(m->from, m->to), *to = &images[n];
    bool fits = n < IMAGES_MAX && copy_path(to->path, m->path);
    if (fits) {
        to->base = m->base;
        to->from = m->from;
        to->to = m->to;
        atomic_store(&to->is_gone, false);
        memcpy(to->build_id, m->build_id, strlen(m->build_id) + 1);
    }
    if (had != NULL && !(fits && is_same(had, to)))
        atomic_store(&had->is_gone, true); /* images_end_gone() has not seen its end */
    if (fits && !is_same(had, to))
        atomic_store_explicit(&image_count, n + 1, memory_order_release);
    spin_give(&image_lock);
    sys_restore_signals(mask);
    if (!fits)
        log_detail(LOG_WARNING,
                   "addresses in this image will have no names: it is one too many, or its path is "
                   "too long",
                   m->path);
}

static bool note(const struct loaded_image *m, void *context)
{
    (void)context;
    char build_id[IMAGE_ID_TEXT];
    image_build_id(m->info, build_id);
    image_note(&(struct image_facts){m->bias, m->from, m->to, m->path, build_id});
    return false;
}

void images_note_all(void)
{
    (void)images_each(note, NULL);
}

/* dl_iterate_phdr(3): how many images had been loaded at the last images_note_missed() */
static _Atomic unsigned long long last_adds;

static bool note_missed(const struct loaded_image *m, void *context)
{
    if (m->is_program && atomic_exchange(&last_adds, m->info->dlpi_adds) == m->info->dlpi_adds)
        return true;
    return note(m, context);
}

static spin_lock missed_lock;
static uint32_t first_missed; /* under missed_lock */

static bool was_missed(uintptr_t address)
{
    for (uint32_t i = first_missed; i < atomic_load(&image_count); i++)
        if (address - images[i].from < images[i].to - images[i].from)
            return true;
    return false;
}

bool images_note_missed(void)
{
    uint64_t mask = sys_block_signals();
    spin_take(&missed_lock);
    first_missed = atomic_load(&image_count);
    (void)images_each(note_missed, NULL);
    bool any = atomic_load(&image_count) != first_missed;
    if (any && recorder_is_on())
        stream_paths_forget(&recorder_stream, was_missed);
    spin_give(&missed_lock);
    sys_restore_signals(mask);
    return any;
}

/* Marks notes of images that are loaded now. */
struct present {
    uint32_t count; /* notes that are looked at */
    bool is_loaded[IMAGES_MAX];
};

static bool visit_present(const struct loaded_image *m, void *context)
{
    struct present *p = context;
    for (uint32_t i = 0; i < p->count; i++)
        p->is_loaded[i] |= images[i].base == m->bias && images[i].from == m->from;
    return false;
}

/* Is the address in an image that is gone, and in none that is loaded? */
static bool is_gone(uintptr_t address)
{
    const struct noted_image *m = note_at(address, address + 1);
    return m != NULL && atomic_load_explicit(&m->is_gone, memory_order_relaxed);
}

void images_end_gone(void (*forget)(bool (*gone)(uintptr_t address)))
{
    struct present p = {.count = atomic_load(&image_count)}; /* later notes are of loaded images */
    bool any = false;
    (void)images_each(visit_present, &p);
    for (uint32_t i = 0; i < p.count; i++)
        if (!p.is_loaded[i])
            any |= !atomic_exchange(&images[i].is_gone, true);
    if (!any)
        return;
    if (recorder_is_on())
        stream_paths_forget(&recorder_stream, is_gone);
    forget(is_gone);
}

bool image_of(uintptr_t address, struct image_facts *out)
{
    for (uint32_t i = atomic_load_explicit(&image_count, memory_order_acquire); i-- > 0;)
        if (address - images[i].from < images[i].to - images[i].from &&
            !atomic_load_explicit(&images[i].is_gone, memory_order_relaxed)) {
            *out = (struct image_facts){images[i].base, images[i].from, images[i].to,
                                        images[i].path, images[i].build_id};
            return true;
        }
    return false;
}

void image_record(struct recorder_thread *t, const struct image_facts *m)
{
    if (!recorder_is_on() || !recorder_active(t))
        return;
    if (images_are_recorded())
        images_record(t);
    else
        record_one(t, m->path, m->base, m->build_id);
}

void images_record(struct recorder_thread *t)
{
    uint32_t n = atomic_load_explicit(&image_count, memory_order_acquire);
    while (images_are_recorded()) {
        uint32_t i = atomic_load(&images_recorded);
        if (i >= n)
            return;
        if (atomic_compare_exchange_strong(&images_recorded, &i, i + 1))
            record_one(t, images[i].path, images[i].base, images[i].build_id);
    }
}

void images_window_opened(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    images_record(t);
}

void images_forked(void)
{
    atomic_store(&image_lock, 0);
    atomic_store(&missed_lock, 0);
    atomic_store(&images_recorded, 0);
}
