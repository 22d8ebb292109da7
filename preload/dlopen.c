/* SPDX-License-Identifier: BSD-3-Clause
 * Images that come later: after each dlopen and dlclose the loaded images are compared with those known.
 *
 * On x86-64 dlopen itself is in dlopen_x86_64.S. Elsewhere a name with a slash and without $ is opened and noticed
 * here, and every other one is handed on by a jump, since its search depends on the caller: images loaded so are noticed at the
 * next dlopen or dlclose. dlmopen is not wrapped; what it loads into the base namespace is noticed so as well. */
#include "preload/interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define IMAGES_MAX 4096

struct known_image {
    uintptr_t base, headers;
    uint32_t round; /* of the look that saw it last; 0 = empty */
};

/* Touched only inside dl_iterate_phdr callbacks, which the dynamic linker serialises. */
static struct known_image known[IMAGES_MAX];
static unsigned known_count;
static uint32_t look_round;
static unsigned long long last_adds, last_subs;

/* One new image, copied: its name may go away once the lock is given back. */
struct look {
    bool notify, first, found, changed;
    uintptr_t base;
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

/* Stops at the first image that is new. Without one it sees them all, and those not seen are gone. */
static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    struct look *l = ctx;
    if (l->first) {
        l->first = false;
        l->changed = info->dlpi_adds != last_adds || info->dlpi_subs != last_subs;
        if (!l->changed)
            return 1;
        look_round++;
    }
    struct known_image *k = find_known(info->dlpi_addr, (uintptr_t)info->dlpi_phdr);
    if (k != NULL) {
        k->round = look_round;
        return 0;
    }
    if (!remember(info->dlpi_addr, (uintptr_t)info->dlpi_phdr) || !l->notify)
        return 0;
    l->found = true;
    l->base = info->dlpi_addr;
    (void)strncpy(l->path, info->dlpi_name != NULL ? info->dlpi_name : "", sizeof l->path - 1);
    return 1;
}

static int visit_end(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].round != look_round)
            known[i].round = 0;
    last_adds = info->dlpi_adds;
    last_subs = info->dlpi_subs;
    return 1;
}

/* Between the two walks another thread may load something: it looks again itself. */
static void images_look(bool notify)
{
    struct look l;
    for (;;) {
        l.notify = notify;
        l.first = true;
        l.found = l.changed = false;
        memset(l.path, 0, sizeof l.path);
        (void)dl_iterate_phdr(visit, &l);
        if (!l.found)
            break;
        trigger_image_loaded(l.path, l.base);
    }
    if (l.changed)
        (void)dl_iterate_phdr(visit_end, NULL);
}

void images_prepare(void)
{
    images_look(false);
}

static bool noticing(void)
{
    return process.traced && processes_vfork_depth == 0 && recorder_self.in_toolkit == 0 &&
           (trigger_wants_images() || recorder_is_on());
}

#if defined(__x86_64__)

/* Called by the stub of dlopen. *real: the next dlopen. Returns the address of a `ret` in the image that holds
 * return_address, 0: jump to *real. */
__attribute__((visibility("hidden"))) uintptr_t dlopen_prepare(uintptr_t return_address,
                                                               void **real);
__attribute__((visibility("hidden"))) void dlopen_done(void *handle);

struct caller {
    uintptr_t address;
    const unsigned char *start, *end; /* of its readable executable segment */
};

static int find_caller(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    struct caller *c = ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || (p->p_flags & (PF_X | PF_R)) != (PF_X | PF_R))
            continue;
        if (c->address < start || c->address >= start + p->p_memsz)
            continue;
        c->start = (const unsigned char *)start; /* NOLINT: the loader's address */
        c->end = c->start + p->p_filesz;
        return 1;
    }
    return 0;
}

/* `xor %eax,%eax; ret` and `repz ret` are the ends of real functions, where unwinding finds the return address on
 * top of the stack; any other 0xc3 serves as well where nobody unwinds. */
static uintptr_t find_return(const struct caller *c)
{
    uintptr_t any = 0;
    const unsigned char *from = (const unsigned char *)c->address; /* NOLINT */
    for (int direction = 1; direction >= -1; direction -= 2)
        for (const unsigned char *p = from;
             p >= c->start + 2 && p < c->end && (p - from) * direction < 65536; p += direction) {
            if (*p != 0xc3)
                continue;
            if (p[-1] == 0xf3 || (p[-1] == 0xc0 && p[-2] == 0x31))
                return (uintptr_t)p;
            if (any == 0)
                any = (uintptr_t)p;
        }
    return any;
}

/* With a shadow stack a return to another place than the caller's is a fault. The instruction is a no-op without. */
static bool have_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer));
    return pointer != 0;
}

uintptr_t dlopen_prepare(uintptr_t return_address, void **real)
{
    int keep = errno;
    *real = (void *)(uintptr_t)NEXT(dlopen);
    uintptr_t gadget = 0;
    if (noticing() && !have_shadow_stack()) {
        struct caller c = {.address = return_address};
        if (dl_iterate_phdr(find_caller, &c) != 0)
            gadget = find_return(&c);
    }
    errno = keep;
    return gadget;
}

void dlopen_done(void *handle)
{
    int keep = errno;
    if (handle != NULL && noticing())
        images_look(true);
    errno = keep;
}

#else

PRELOAD_EXPORT void *dlopen(const char *file, int mode)
{
    if (!noticing() || file == NULL || strchr(file, '/') == NULL || strchr(file, '$') != NULL)
        return NEXT(dlopen)(file, mode);
    void *handle = NEXT(dlopen)(file, mode);
    int keep = errno;
    if (handle != NULL)
        images_look(true);
    errno = keep;
    return handle;
}

#endif

PRELOAD_EXPORT int dlclose(void *handle)
{
    int rc = NEXT(dlclose)(handle);
    int keep = errno;
    if (noticing())
        images_look(true);
    errno = keep;
    return rc;
}
