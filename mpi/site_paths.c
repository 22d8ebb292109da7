/* SPDX-License-Identifier: BSD-3-Clause
 * Finds call sites: the wrappers leave the places of their return addresses with the open calls. */
#include "mpi/site_paths.h"

#include "mpi/wrapper.h"

#include "base/sys.h"

RT_COLD uint32_t mpi_path_enter(uintptr_t caller)
{
    return mpi_hooks.path_enter != NULL ? mpi_hooks.path_enter(0, caller) : 0;
}

static uint32_t path_of_stack(uintptr_t at)
{
    return mpi_path_depth > 0 && mpi_hooks.path_of_stack != NULL
               ? mpi_hooks.path_of_stack(at, mpi_path_depth)
               : 0;
}

/* Reads a return address from a stack that may be gone. Returns false if it is. */
static bool read_caller(uintptr_t at, uintptr_t *caller)
{
    bool readable = sys_read_self(at, caller, sizeof *caller) == (long)sizeof *caller;
    *caller = readable ? return_address_plain(*caller) : 0;
    return readable;
}

/* Returns the place of the return address that is the call site of a call at `depth`, which is
 * outside the library; the call's own return address lies at `at`. Outer calls may have been left,
 * with all their stacks. 0: unknown. */
static uintptr_t site_of(const struct recorder_thread *t, uint32_t depth, uintptr_t at)
{
    uintptr_t caller;
    while (depth > 0) {
        if (!read_caller(at, &caller))
            return 0;
        if (!mpi_is_library(caller))
            break;
        at = mpi_return_at(t, --depth);
    }
    return at;
}

uint32_t mpi_path_further(const struct recorder_thread *t, uint32_t depth)
{
    return mpi_path_further_at(t, depth, mpi_return_at(t, depth));
}

uint32_t mpi_path_further_at(const struct recorder_thread *t, uint32_t depth, uintptr_t at)
{
    uintptr_t caller;
    at = site_of(t, depth, at);
    if (at == 0 || mpi_path_depth != 1)
        return at != 0 ? path_of_stack(at) : 0;
    return read_caller(at, &caller) ? mpi_path_from(caller) : 0;
}

/* The word may be anything if the call has been left: so the walk must come to this very frame, and
 * no code of our own calls MPI. */
uint32_t mpi_path_of_cut(const struct recorder_thread *t, uint32_t depth)
{
    uintptr_t at = site_of(t, depth, mpi_return_at(t, depth)), caller;
    if (at == 0 || !read_caller(at, &caller) || mpi_is_library(caller))
        return 0;
    recorder_self.in_toolkit++; /* our own handler may be what closes the window */
    uint32_t path = path_of_stack(at);
    recorder_self.in_toolkit--;
    return path;
}
