/* SPDX-License-Identifier: BSD-3-Clause
 * The events of all threads of a run as one sequence, in the order of time on rank 0's node: those of one time by rank, file, thread and row, so
 * that it is the same from one time to the next.
 *
 * Where several processes convert a run together (parts.h) each reads the events of its files alone, and all get all of them from what each
 * has left (merged.h): the same sequence.
 *
 * Memory: for each thread some hundred KiB, and 16 bytes for each piece of a file that is one thread's (some 2,000 events). */
#ifndef REGTRACE_TOOLS_STREAMS_STREAMS_H
#define REGTRACE_TOOLS_STREAMS_STREAMS_H

#include "tools/tools.h"
#include "writer/writer.h"

/* One thread of one file. */
struct emu_stream {
    const struct rt_rank *rank;
    const struct rt_thread *thread; /* its row of /threads; NULL: it has none */
    int32_t number;                 /* of the thread, in its file */
    uint64_t rows;
};

struct emu_record {
    int64_t ns; /* of CLOCK_MONOTONIC on rank 0's node */
    uint32_t stream;
    uint64_t row; /* in its file */
    struct rt_event event;
};

struct emu_streams;

/* Of these ranks. Opens all their files; one whose /pieces does not say of all events whose they are is read through. A file that cannot be read: an error, where `skip` is NULL; else it
 * is left out, and told. */
RT_MUST_CHECK int emu_streams_open(struct emu_streams **streams, const struct rt_run *run,
                                   const struct rank_list *ranks,
                                   void (*skip)(const char *file, const char *why),
                                   struct rt_error *e);
void emu_streams_close(struct emu_streams *s);

/* All threads that recorded or are in /threads, by rank, file and number. */
const struct emu_stream *emu_streams_all(const struct emu_streams *s, uint32_t *count);
/* Is this process the one that reads it? */
bool emu_streams_is_own(const struct emu_streams *s, uint32_t stream);
uint64_t emu_streams_events(const struct emu_streams *s);

/* The next one; *got false: there is none any more. */
RT_MUST_CHECK int emu_streams_next(struct emu_streams *s, struct emu_record *r, bool *got,
                                   struct rt_error *e);

/* Rows of the file of that stream, as rt_rank_read_events(); of other threads too. */
RT_MUST_CHECK int emu_streams_read(struct emu_streams *s, uint32_t stream, uint64_t first,
                                   size_t count, struct rt_event *out, size_t *got,
                                   struct rt_error *e);

#endif
