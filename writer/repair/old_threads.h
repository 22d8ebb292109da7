/* SPDX-License-Identifier: BSD-3-Clause
 * Threads of a file whose stream is gone: what the events say has precedence over what the rows of
 * /threads say. */
#ifndef REGTRACE_WRITER_REPAIR_OLD_THREADS_H
#define REGTRACE_WRITER_REPAIR_OLD_THREADS_H

#include "writer/file/rankfile.h"

struct old_threads {
    struct rt_thread *rows;
    uint64_t *reported; /* drops that events report, by thread */
    size_t count;
};

/* Copies the old file's rows. Returns 0 or -ENOMEM. Call old_threads_free() in both cases. */
RT_MUST_CHECK int old_threads_begin(struct old_threads *o, const struct rt_rank_tables *old);
/* Counts one event of the old file. */
void old_threads_take(struct old_threads *o, const struct rt_event *e);
/* Writes rows that count the events that exist, and a loss for drops that no event reports.
 * `clock`: ticks of that loss. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int old_threads_end(const struct old_threads *o, struct rankfile *f, uint64_t clock);
void old_threads_free(struct old_threads *o);

#endif
