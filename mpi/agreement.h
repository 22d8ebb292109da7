/* SPDX-License-Identifier: BSD-3-Clause
 * Whether every rank of the world is traced, found out without MPI. */
#ifndef REGTRACE_MPI_AGREEMENT_H
#define REGTRACE_MPI_AGREEMENT_H

#include <stdbool.h>

/* Every rank says by a file in the run's folder that it is here; one symbolic link, which only one can make, says "yes" when all
 * were seen, "no" when a rank has waited long enough: so all ranks that ask get the same answer, and what is collective may follow a
 * "yes". Waits up to 2 s. Once a folder: later worlds in it, folders that the nodes do not share, and processes without one get
 * "no". Not async-signal-safe. */
bool agreement_all_here(int rank, int size);

#endif
