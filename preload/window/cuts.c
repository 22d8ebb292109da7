/* SPDX-License-Identifier: BSD-3-Clause
 * Events for the regions, functions and MPI calls that the edge of a window cuts (cuts.h). */
#include "preload/window/cuts.h"

#include "mpi/mpi.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/thread.h"

static const uint32_t cut = (uint32_t)EVENT_FLAG_CUT << 24;

static uint32_t open_regions(const struct preload_thread *pt)
{
    return pt->regions.depth < THREAD_REGION_DEPTH ? pt->regions.depth : THREAD_REGION_DEPTH;
}

/* Functions of a program compiled with -finstrument-functions; 0: the run does not record them. */
static uint32_t open_functions(const struct preload_thread *pt)
{
    if (process.options.number[OPT_functions] != OPTION_FUNCTIONS_COMPILED)
        return 0;
    return pt->functions.depth < THREAD_FUNCTION_DEPTH ? pt->functions.depth
                                                       : THREAD_FUNCTION_DEPTH;
}

void cuts_enter(struct recorder_thread *t, struct preload_thread *pt)
{
    uint32_t regions = open_regions(pt), functions = open_functions(pt);
    pt->functions.unseen = pt->functions.depth > THREAD_FUNCTION_DEPTH ? pt->functions.depth : 0;
    for (uint32_t i = 0; i < regions; i++)
        (void)recorder_emit(t, EV_REGION_BEGIN | cut, pt->regions.ids[i], 0);
    for (uint32_t i = 0; i < functions; i++)
        (void)recorder_emit(t, EV_FUNCTION_ENTER | cut, pt->functions.open[i].address, 0);
    probe_functions_cut(t, true);
    mpi_cut_enters(t);
}

void cuts_leave(struct recorder_thread *t, struct preload_thread *pt)
{
    mpi_cut_leaves(t);
    probe_functions_cut(t, false);
    for (uint32_t i = open_functions(pt); i-- > 0;)
        (void)recorder_emit(t, EV_FUNCTION_LEAVE | cut, pt->functions.open[i].address,
                            pt->functions.open[i].path);
    for (uint32_t i = open_regions(pt); i-- > 0;)
        (void)recorder_emit(t, EV_REGION_END | cut, pt->regions.ids[i], 0);
}
