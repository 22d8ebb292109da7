/* SPDX-License-Identifier: BSD-3-Clause
 * Maps memory near code (near.h). */
#include "preload/patch/code/near.h"

#include "base/sys.h"

#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE ((uintptr_t)4096)
#define STRIDE ((uintptr_t)1 << 20)
#define STACK_ROOM ((uintptr_t)1 << 30)

void *map_at(uintptr_t at, size_t bytes, int protection, int flags)
{
    long p = sys_call6(SYS_mmap, (long)at, (long)bytes, protection,
                       flags | MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p < 0 && p > -4096)
        return NULL;
    if ((uintptr_t)p != at) { /* the kernel does not know MAP_FIXED_NOREPLACE */
        (void)sys_call6(SYS_munmap, p, (long)bytes, 0, 0, 0, 0);
        return NULL;
    }
    return (void *)p; /* NOLINT: the kernel's address */
}

/* Could the stack of the first thread grow to this address? */
static bool is_below_stack(uintptr_t at)
{
    uintptr_t stack = getauxval(AT_RANDOM); /* the kernel puts these bytes on that stack */
    return at < stack && stack - at < STACK_ROOM;
}

uintptr_t heap_end(void)
{
    return (uintptr_t)sys_call6(SYS_brk, 0, 0, 0, 0, 0, 0);
}

/* The heap grows upwards from some place after the program. So memory below the code is best, then
 * memory between the code and the heap, then the farthest above. */
void *map_near(uintptr_t from, uintptr_t to, size_t bytes, int protection)
{
    uintptr_t low = from & ~(PAGE - 1), high = (to + PAGE - 1) & ~(PAGE - 1);
    bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
    if (high - low + bytes >= NEAR_REACH)
        return NULL;
    uintptr_t reach = (NEAR_REACH - (high - low) - bytes) & ~(PAGE - 1);
    void *p = NULL;
    for (uintptr_t away = 0; p == NULL && away < reach && away + bytes < low; away += STRIDE)
        p = map_at(low - bytes - away, bytes, protection, 0);
    for (uintptr_t away = 0, end = heap_end(); p == NULL && high + away + bytes <= end;
         away += STRIDE)
        p = map_at(high + away, bytes, protection, 0);
    for (uintptr_t away = reach; p == NULL && away > STRIDE; away -= STRIDE)
        if (!is_below_stack(high + away))
            p = map_at(high + away, bytes, protection, 0);
    return p;
}
