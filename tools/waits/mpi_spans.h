/* SPDX-License-Identifier: BSD-3-Clause
 * From when to when MPI is up in each process: from the return of MPI_Init to the begin of
 * MPI_Finalize, also where no window has recorded these calls. EV_MPI_READY and EV_MPI_DONE say so
 * in any case, a little later. */
#ifndef REGTRACE_TOOLS_WAITS_MPI_SPANS_H
#define REGTRACE_TOOLS_WAITS_MPI_SPANS_H

#include "tools/streams/streams.h"

enum mpi_change_kind { MPI_STAYS, MPI_COMES_UP, MPI_GOES_DOWN };

/* A change that the main thread of a process has not recorded itself as a call. */
struct mpi_change {
    enum mpi_change_kind kind;
    uint32_t main; /* the stream of the main thread; not with MPI_STAYS */
};

struct mpi_spans;

/* Opens the spans of these streams' processes. Returns NULL without memory. */
struct mpi_spans *mpi_spans_open(const struct streams *streams);
/* Takes every record, in the order of time. Returns what else it changes for a main thread: another
 * thread calls MPI_Init or MPI_Finalize, or no window has the call. */
struct mpi_change mpi_spans_take(struct mpi_spans *s, const struct stream_record *r);
/* Returns whether the recording says when MPI came up in the stream's process. It does not if the
 * event was lost. Ask after the last record. */
bool mpi_spans_are_known(const struct mpi_spans *s, uint32_t stream);
/* Returns whether MPI is up at this time in the stream's process, or may be if that is not known.
 * Ask after the last record. */
bool mpi_spans_has(const struct mpi_spans *s, uint32_t stream, int64_t ns);
void mpi_spans_close(struct mpi_spans *s);

#endif
