/* SPDX-License-Identifier: BSD-3-Clause
 * Events of one process's part of a run, merged into one file that is read from one end to the other, and all processes' files as one
 * sequence: what streams.h gives, from files that need no HDF5.
 *
 * A record: which of its fields differ from the stream's last one, as bits; then those, as differences, in bytes of 7 bits. */
#ifndef REGTRACE_TOOLS_STREAMS_MERGED_H
#define REGTRACE_TOOLS_STREAMS_MERGED_H

#include "tools/streams/streams.h"

struct merged_writer;

/* The part of this process. run: the same number where the same streams are meant. */
RT_MUST_CHECK int merged_create(struct merged_writer **writer, uint32_t streams, uint64_t run,
                                struct rt_error *e);
RT_MUST_CHECK int merged_put(struct merged_writer *w, const struct emu_record *r,
                             struct rt_error *e);
/* All is there: others see it from now on. */
RT_MUST_CHECK int merged_finish(struct merged_writer *w, struct rt_error *e);
/* Without merged_finish(); takes NULL. */
void merged_discard(struct merged_writer *w);

struct merged;

/* Those of all processes; waits for them. -EAGAIN: they have not seen the same run. numbers: of the threads, by stream. */
RT_MUST_CHECK int merged_open(struct merged **merged, uint32_t streams, const int32_t *numbers,
                              uint64_t run, struct rt_error *e);
void merged_close(struct merged *m);
/* As emu_streams_next(). */
RT_MUST_CHECK int merged_next(struct merged *m, struct emu_record *r, bool *got,
                              struct rt_error *e);

#endif
