/* SPDX-License-Identifier: BSD-3-Clause
 * A library that finds a plug-in through its own RUNPATH, $ORIGIN/inner. */
#include <dlfcn.h>

void *middle_open(const char *name, int mode);

__attribute__((visibility("default"))) void *middle_open(const char *name, int mode)
{
    void *handle =
        /* Not a tail call: the return address must lie in this library. */
        dlopen(name, mode);
    __asm__ volatile("" ::: "memory");
    return handle;
}
