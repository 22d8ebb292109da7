/* SPDX-License-Identifier: BSD-3-Clause
 * Gives the events of all threads of a run as one sequence, ordered by time on rank 0's node.
 * Events of the same time are ordered by rank, file, thread and row, so that every reading gives
 * the same sequence.
 *
 * Where several processes convert a run together (joint_processes.h), each process reads only the
 * events of its own files and leaves them in a file. Each process then reads those files of all
 * processes (merged.h) and gets the same sequence.
 *
 * Memory: some hundred KiB for each thread, and 16 bytes for each piece, which is a series of rows
 * of one thread in a file (some 2,000 events). */
#ifndef REGTRACE_TOOLS_STREAMS_STREAMS_H
#define REGTRACE_TOOLS_STREAMS_STREAMS_H

#include "tools/tools.h"
#include "writer/writer.h"

/* A stream here is one thread of one rank file. */
struct thread_stream {
    const struct rt_rank *rank;
    const struct rt_thread *thread; /* its row of /threads; NULL if it has none */
    int32_t number;                 /* of the thread, in its file */
    uint64_t rows;
};

struct stream_record {
    int64_t ns; /* of CLOCK_MONOTONIC on rank 0's node */
    uint32_t stream;
    uint64_t row; /* in the stream's file */
    struct rt_event event;
};

struct streams;

/* Receives the name of each file that was left out, and the reason. */
struct skipped_files {
    void (*skip)(void *context, const char *file, const char *why);
    void *context;
};

/* Opens the files of these ranks and finds each thread's rows; the caller closes *streams. Reads
 * through every file whose table /pieces does not name the thread of each event. If a file cannot
 * be read and `skipped` is NULL, the function fails; otherwise it leaves the file out and tells
 * `skipped`. Running out of memory is always an error. Returns 0, or -errno with the reason in *e
 * and *streams NULL.
 *
 * If several processes convert the run, the call waits for the events of all of them; it returns
 * -EAGAIN if the run changed between their readings. */
RT_MUST_CHECK int streams_open(struct streams **streams, const struct rt_run *run,
                               const struct rank_list *ranks, const struct skipped_files *skipped,
                               struct rt_error *e);
void streams_close(struct streams *s);

/* Returns all threads that recorded or have a row in /threads, by rank, file and number. The array
 * belongs to `s`. */
const struct thread_stream *streams_all(const struct streams *s, uint32_t *count);
/* Returns whether this process reads the stream's file. */
bool streams_is_own(const struct streams *s, uint32_t stream);
/* Returns the number of events of all streams. */
uint64_t streams_events(const struct streams *s);

/* Reads the next event into *r; sets *got to false after the last one. */
RT_MUST_CHECK int streams_next(struct streams *s, struct stream_record *r, bool *got,
                               struct rt_error *e);

/* Reads rows of the stream's file, as rt_rank_read_events() does; the rows may be of other threads
 * too. */
RT_MUST_CHECK int streams_read(struct streams *s, uint32_t stream, uint64_t first, size_t count,
                               struct rt_event *out, size_t *got, struct rt_error *e);

#endif
