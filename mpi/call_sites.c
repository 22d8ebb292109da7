/* SPDX-License-Identifier: BSD-3-Clause
 * Finds call sites: the wrappers leave the places of their return addresses with the open calls. */
#include "mpi/call_sites.h"

#include "mpi/wrapper.h"

#include "base/sys.h"

RT_COLD uint32_t mpi_path_enter(uintptr_t caller)
{
    return mpi_hooks.path_enter != NULL ? mpi_hooks.path_enter(0, caller) : 0;
}

static uint32_t path_of_stack(uintptr_t at)
{
    return mpi_path_depth > 1 && mpi_hooks.path_of_stack != NULL
               ? mpi_hooks.path_of_stack(at, mpi_path_depth)
               : 0;
}

uint32_t mpi_path_further(const struct recorder_thread *t, uint32_t depth)
{
    uintptr_t at = mpi_return_at(t, depth), caller = *(const uintptr_t *)at;
    while (RT_UNLIKELY(depth > 0) && mpi_is_library(caller)) {
        at = mpi_return_at(t, --depth);
        caller = *(const uintptr_t *)at;
    }
    return RT_LIKELY(mpi_path_depth == 1) ? mpi_path_from(caller) : path_of_stack(at);
}

uint32_t mpi_path_of_cut(const struct recorder_thread *t, uint32_t depth)
{
    uintptr_t at, caller;
    do {
        at = mpi_return_at(t, depth);
        if (sys_read_self(at, &caller, sizeof caller) != (long)sizeof caller)
            return 0;
    } while (depth-- > 0 && mpi_is_library(caller));
    return mpi_path_depth == 1 ? mpi_path_from(caller) : path_of_stack(at);
}
