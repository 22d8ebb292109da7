/* SPDX-License-Identifier: BSD-3-Clause
 * Gives each thread of a profiled run the room in which mpi/profile.c remembers its entries. */
#include "preload/count/profile_part.h"

#include "preload/process.h"

#include "mpi/mpi.h"

#include <errno.h>

bool profile_is_on(void)
{
    return option_is_profile(&process.options);
}

/* Call paths differ more than call sites do. */
uint32_t profile_entries(void)
{
    return process.options.number[OPT_callpath] > 1 ? 32768 : 8192;
}

int profile_prepare(struct rt_error *e)
{
    if (!profile_is_on() || process.options.number[OPT_record_mpi] != 0)
        return 0;
    rt_error_set(e, "REGTRACE_MODE=profile sums up MPI calls, and REGTRACE_MPI=0 leaves them out: "
                    "leave out one of the two");
    return -EINVAL;
}

size_t profile_room(void)
{
    return profile_is_on() ? mpi_profile_bytes : 0;
}

void profile_thread_made(struct preload_thread *pt, void *room)
{
    (void)pt;
    recorder_self.profile = profile_is_on() ? room : NULL;
}

void profile_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    t->profile = NULL;
}

/* Also called in processes that are not traced, which have no options. */
void profile_forget(void)
{
    mpi_profile_forget();
}
