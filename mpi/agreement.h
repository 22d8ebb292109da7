/* SPDX-License-Identifier: BSD-3-Clause
 * Finds out without MPI whether every rank of the world is traced. */
#ifndef REGTRACE_MPI_AGREEMENT_H
#define REGTRACE_MPI_AGREEMENT_H

#include <stdbool.h>

/* Returns whether every rank is traced. Each rank makes a file in the run's folder. One symbolic
 * link, which only one rank can make, holds the decision: "yes" when all files were seen, "no" when
 * a rank has waited long enough. So all ranks that ask get the same answer, and after "yes" they
 * can make collective calls. Waits up to 2 s. A folder serves for one decision: later worlds in it
 * get "no", as do nodes that do not share the folder and processes without one. Not
 * async-signal-safe. */
bool agreement_all_here(int rank, int size);

#endif
