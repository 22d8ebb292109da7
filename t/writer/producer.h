/* SPDX-License-Identifier: BSD-3-Clause
 * A stand-in for a traced process: makes a stream, starts a writer for it, and records events with
 * the real recorder. */
#ifndef REGTRACE_T_WRITER_PRODUCER_H
#define REGTRACE_T_WRITER_PRODUCER_H

#include "base/format/recorder.h"

#include <limits.h>
#include <sys/types.h>

struct producer {
    struct stream stream;
    char path[PATH_MAX]; /* of the stream */
    pid_t writer;        /* child of this process: see producer_start_writer() */
};

/* Makes a stream at `path` with the usual metadata; the calling process owns the stream. meta:
 * NULL-terminated list of keys and values in turn. */
void producer_create(struct producer *p, const char *path, const struct stream_geometry *g,
                     const char *const *meta);

/* Starts `program` (regtrace-writer) for the process that made the stream, as a child of the
 * caller; waits until the writer is READY. */
void producer_start_writer(struct producer *p, const char *program, const char *dir);

/* Attaches the calling thread and starts recording. */
void producer_attach(struct producer *p);

/* Ends as a normal exit does: sets the state, wakes the writer and waits until it has closed the
 * file (10 s at most). Returns the writer's state. */
uint32_t producer_finish(struct producer *p, uint32_t state);

#endif
