/* SPDX-License-Identifier: BSD-3-Clause
 * The call path of an MPI call, as its leave event or the event before it has it. */
#ifndef REGTRACE_TOOLS_MPI_LEAVE_H
#define REGTRACE_TOOLS_MPI_LEAVE_H

#include "base/format/event_fields.h"
#include "writer/writer.h"

/* Returns the number of the path; 0: unknown. *told: of the thread's latest EV_MPI_CALL_PATH since
 * its last leave; 0: none. Sets it to 0. */
static inline uint32_t mpi_leave_path(const struct rt_event *leave, uint32_t *told)
{
    uint32_t path = (leave->flags & EVENT_FLAG_PATH) != 0
                        ? (uint32_t)EVENT_GET(leave, EV_MPI_LEAVE, path)
                        : *told;
    *told = 0;
    return path;
}

#endif
