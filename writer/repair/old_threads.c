/* SPDX-License-Identifier: BSD-3-Clause
 * Counts the events of each thread anew.
 *
 * Rows of /threads are written over their previous contents, some before the events that they count
 * and some up to a second later. If the writer was killed in between, or if a row of the tail is
 * torn, they differ from /events. */
#include "writer/repair/old_threads.h"

#include <errno.h>
#include <stdlib.h>

int old_threads_begin(struct old_threads *o, const struct rt_rank_tables *old)
{
    o->rows = calloc(old->thread_count + 1, sizeof *o->rows);
    o->reported = calloc(old->thread_count + 1, sizeof *o->reported);
    if (o->rows == NULL || o->reported == NULL)
        return -ENOMEM;
    o->count = old->thread_count;
    for (size_t i = 0; i < o->count; i++) {
        o->rows[i] = old->threads[i];
        o->rows[i].rows = 0;
    }
    return 0;
}

void old_threads_take(struct old_threads *o, const struct rt_event *e)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->rows[i].thread == e->thread) {
            o->rows[i].rows++;
            o->reported[i] += e->code == EV_DROPPED ? e->a : 0;
            return;
        }
}

int old_threads_end(const struct old_threads *o, struct rankfile *f, uint64_t clock)
{
    int rc = 0;
    for (size_t i = 0; i < o->count && rc == 0; i++) {
        struct rt_thread *t = &o->rows[i];
        struct rt_loss loss = {.kind = RT_LOSS_DROPPED, .thread = t->thread, .clock = clock};
        if (t->dropped > o->reported[i]) {
            loss.count = t->dropped - o->reported[i];
            rc = table_append(&f->tables[SCHEMA_LOSSES], &loss, 1);
        } else {
            t->dropped = o->reported[i];
        }
        if (rc == 0)
            rc = table_append(&f->tables[SCHEMA_THREADS], t, 1);
    }
    return rc;
}

void old_threads_free(struct old_threads *o)
{
    free(o->rows);
    free(o->reported);
    *o = (struct old_threads){0};
}
