/* SPDX-License-Identifier: BSD-3-Clause
 * A library that finds a plug-in by its own RUNPATH, $ORIGIN/inner. */
#include <dlfcn.h>

void *middle_open(const char *name, int mode);

__attribute__((visibility("default"))) void *middle_open(const char *name, int mode)
{
    void *handle =
        dlopen(name, mode); /* kept from being a tail call: the return address must be in here */
    __asm__ volatile("" ::: "memory");
    return handle;
}
