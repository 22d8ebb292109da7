/* SPDX-License-Identifier: BSD-3-Clause
 * The threads of a file whose stream is gone: what its events say of them goes before what their rows say. */
#ifndef REGTRACE_WRITER_REPAIR_OLD_THREADS_H
#define REGTRACE_WRITER_REPAIR_OLD_THREADS_H

#include "writer/file/rankfile.h"

struct old_threads {
    struct rt_thread *rows;
    uint64_t *reported; /* drops that an event tells of, by thread */
    size_t count;
};

/* Take the old file's rows; 0 or -ENOMEM. old_threads_free() in any case. */
RT_MUST_CHECK int old_threads_begin(struct old_threads *o, const struct rt_rank_tables *old);
/* One of its events. */
void old_threads_take(struct old_threads *o, const struct rt_event *e);
/* Rows that count the events that are there, and a loss for drops that no event tells of. 0 or -ENOMEM. */
RT_MUST_CHECK int old_threads_end(const struct old_threads *o, struct rankfile *f, uint64_t clock);
void old_threads_free(struct old_threads *o);

#endif
