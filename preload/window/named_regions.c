/* SPDX-License-Identifier: BSD-3-Clause
 * Named regions, from calls of our header and from presets of MPI_Pcontrol, and whether a name that
 * the program passes can be read. */
#include "preload/process.h"
#include "preload/stack/call_paths.h"
#include "preload/thread.h"
#include "preload/window/triggers.h"

#include "base/log.h"
#include "base/return_address.h"
#include "base/sys.h"

#include <errno.h>

/* If the kernel does not answer (a seccomp filter), the pointer counts as readable. */
static bool page_is_readable(struct preload_thread *pt, uintptr_t page)
{
    static _Atomic bool told;
    uintptr_t none = 0, *known = pt != NULL ? &pt->readable[page % THREAD_READABLE_PAGES] : &none;
    char byte;
    if (*known == page + 1)
        return true;
    if (sys_read_self(page * TEXT_PAGE, &byte, 1) == -EFAULT) {
        if (!atomic_exchange(&told, true))
            log_line(LOG_WARNING, "a named call (regtrace.h) was given a name that is not in "
                                  "readable memory; such calls are left out");
        return false;
    }
    *known = page + 1;
    return true;
}

RT_COLD bool text_look(struct preload_thread *pt, const char *text)
{
    uintptr_t at = (uintptr_t)text, last = at + STREAM_STRING_MAX;
    for (;;) {
        uintptr_t page = at / TEXT_PAGE, next = (page + 1) * TEXT_PAGE;
        if (!page_is_readable(pt, page))
            return false;
        if (last < next)
            return true;
        for (; at != next; at++)
            if (*(const char *)at == '\0') /* NOLINT: the program's */
                return true;
    }
}

/* Returns the calling thread; NULL: its region of this name is left out. */
static struct preload_thread *thread_of_region(const char *name)
{
    if (!process.traced || recorder_self.in_toolkit || name == NULL)
        return NULL;
    struct preload_thread *pt = thread_self();
    return pt != NULL && text_is_readable(pt, name) && name[0] != '\0' ? pt : NULL;
}

void region_begin(const char *name, uintptr_t return_at)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = thread_of_region(name);
    if (pt == NULL)
        return;
    triggers_hit_pcontrol(pt, false, 0, name, return_address_read(return_at));
    uint32_t id = stream_string_id(&recorder_stream, name);
    bool wanted = recorder_active(t);
    if (pt->regions.depth < THREAD_REGION_DEPTH)
        pt->regions.ids[pt->regions.depth] = id;
    pt->regions.depth++;
    if (wanted)
        (void)recorder_emit(t, EV_REGION_BEGIN, id, call_path_at(return_at));
}

void region_end(const char *name, uintptr_t return_at)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = thread_of_region(name);
    if (pt == NULL)
        return;
    bool wanted = recorder_active(t);
    if (pt->regions.depth > 0)
        pt->regions.depth--;
    if (wanted)
        (void)recorder_emit(t, EV_REGION_END, stream_string_id(&recorder_stream, name), 0);
    triggers_hit_region_end(pt, name, return_address_read(return_at));
}
