/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the events of one process's part of a run, already merged, into a file that is read from
 * start to end, and merges the files of all processes into the sequence that streams.h gives. These
 * files need no HDF5.
 *
 * A record begins with bits that say which fields are the same as, or follow from, those of the
 * stream's last record. The other fields come next, most of them as differences, in variable-length
 * numbers with 7 bits in each byte. */
#ifndef REGTRACE_TOOLS_STREAMS_MERGED_H
#define REGTRACE_TOOLS_STREAMS_MERGED_H

#include "tools/streams/streams.h"

struct merged_writer;

/* Starts the file of this process. `run` identifies the set of streams: it must be the same number
 * in each process. */
RT_MUST_CHECK int merged_create(struct merged_writer **writer, uint32_t streams, uint64_t run,
                                struct rt_error *e);
RT_MUST_CHECK int merged_put(struct merged_writer *w, const struct stream_record *r,
                             struct rt_error *e);
/* Completes the file, which other processes see only from now on, and frees `w` even on failure. */
RT_MUST_CHECK int merged_finish(struct merged_writer *w, struct rt_error *e);
/* Removes the unfinished file and frees `w`; takes NULL. */
void merged_discard(struct merged_writer *w);

struct merged;

/* Waits for the files of all processes and opens them. `numbers` are the threads' numbers, by
 * stream; they must outlive *merged. Returns 0, or -errno with *e: -EAGAIN if the processes have
 * not seen the same run. */
RT_MUST_CHECK int merged_open(struct merged **merged, uint32_t streams, const int32_t *numbers,
                              uint64_t run, struct rt_error *e);
void merged_close(struct merged *m);
/* Reads the next event, as streams_next() does. */
RT_MUST_CHECK int merged_next(struct merged *m, struct stream_record *r, bool *got,
                              struct rt_error *e);

#endif
