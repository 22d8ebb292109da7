/* SPDX-License-Identifier: BSD-3-Clause
 * Per-thread memory for calls whose data is too large for a small stack. A thread keeps its mapping
 * from one call to the next. */
#include "base/format/recorder.h"

#include "base/sys.h"

#include <sys/mman.h>
#include <sys/syscall.h>

static void unmap_scratch(struct recorder_scratch *s)
{
    if (s != NULL)
        (void)sys_call6(SYS_munmap, (long)s, (long)s->bytes, 0, 0, 0, 0);
}

/* Puts `s` in place of the thread's scratch memory and returns what was there. Do not call it from
 * signal handlers. Calls that take the memory do not nest, except in callbacks
 * of the program: a nested call finds NULL and maps its own memory. */
static struct recorder_scratch *swap_scratch(struct recorder_thread *t, struct recorder_scratch *s)
{
    struct recorder_scratch *had = t->scratch;
    t->scratch = s;
    return had;
}

struct recorder_scratch *recorder_scratch_take(struct recorder_thread *t, size_t bytes)
{
    enum { PAGE = 4096 };
    struct recorder_scratch *s = swap_scratch(t, NULL);
    bytes = (bytes + sizeof *s + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (s != NULL && s->bytes >= bytes)
        return s;
    unmap_scratch(s);
    long p = sys_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p < 0 && p > -4096)
        return NULL;
    s = (struct recorder_scratch *)p; /* NOLINT: the kernel's address */
    s->bytes = bytes;
    return s;
}

void recorder_scratch_give(struct recorder_thread *t, struct recorder_scratch *s)
{
    unmap_scratch(swap_scratch(t, recorder_is_attached(t) ? s : NULL));
    if (!recorder_is_attached(t))
        unmap_scratch(s);
}

void recorder_scratch_end(struct recorder_thread *t)
{
    unmap_scratch(swap_scratch(t, NULL));
}
