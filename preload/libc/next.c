/* SPDX-License-Identifier: BSD-3-Clause
 * The definition behind ours: RTLD_NEXT, looked up once by each caller. */
#include "preload/preload.h"

#include <dlfcn.h>

void *preload_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}
