/* SPDX-License-Identifier: BSD-3-Clause
 * The open MPI calls of a thread, for the slow path of a nested call. */
#ifndef REGTRACE_MPI_OPEN_CALLS_H
#define REGTRACE_MPI_OPEN_CALLS_H

#include "mpi/mpi.h"

/* Call it when a call begins while others are open, in a wrapper whose canonical frame address is
 * `frame`. Finishes what a handler may have interrupted, and drops calls that an exception or a
 * jump has left for good. */
void mpi_open_calls_settle(struct recorder_thread *t, uintptr_t frame);

#endif
