/* SPDX-License-Identifier: BSD-3-Clause
 * A stand-in for a traced process: a stream, a writer started for it, and events by the real recorder. */
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

/* Make a stream at `path` with the usual metadata; the calling process is its owner. meta: NULL-terminated key, value pairs. */
void producer_create(struct producer *p, const char *path, const struct stream_geometry *g,
                     const char *const *meta);

/* Start `program` (regtrace-writer) for the process that made the stream, as a child of the caller; waits until it is READY. */
void producer_start_writer(struct producer *p, const char *program, const char *dir);

/* Attach the calling thread and start recording. */
void producer_attach(struct producer *p);

/* End as a normal exit does: state, wake, wait for the writer to close (10 s at most). Returns the writer's state. */
uint32_t producer_finish(struct producer *p, uint32_t state);

#endif
