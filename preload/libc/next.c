/* SPDX-License-Identifier: BSD-3-Clause
 * Looks up the definition of a symbol after ours (RTLD_NEXT). Each caller looks a symbol up
 * once. */
#include "preload/preload.h"

#include <dlfcn.h>

void *preload_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}
