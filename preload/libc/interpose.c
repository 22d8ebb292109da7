/* SPDX-License-Identifier: BSD-3-Clause
 * Looks up the functions that the wrappers call, each once. */
#include "preload/libc/interpose.h"

#include <dlfcn.h>

void *_Atomic interpose_next[INTERPOSE_COUNT];

static const char *const names[INTERPOSE_COUNT] = {
#define X(name) [INTERPOSE_##name] = #name,
#include "preload/libc/interpose.def"
#undef X
};

void *preload_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void *interpose_resolve(enum interpose_name i)
{
    void *p = preload_next(names[i]);
    atomic_store_explicit(&interpose_next[i], p, memory_order_relaxed);
    return p;
}

void interpose_resolve_all(void)
{
    for (int i = 0; i < INTERPOSE_COUNT; i++)
        (void)interpose_resolve((enum interpose_name)i);
    (void)dlerror(); /* a function that libc lacks is no error of the program */
}
