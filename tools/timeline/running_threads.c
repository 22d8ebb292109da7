/* SPDX-License-Identifier: BSD-3-Clause
 * Follows which thread runs on each processor. */
#include "tools/timeline/running_threads.h"

#include <stdlib.h>

bool runs_open(struct runs *r, uint32_t threads, uint32_t processors)
{
    r->threads = calloc(threads + 1u, sizeof *r->threads);
    r->processors = calloc(processors + 1u, sizeof *r->processors);
    for (uint32_t i = 0; r->threads != NULL && i < threads; i++)
        r->threads[i].processor = -1;
    return r->threads != NULL && r->processors != NULL;
}

void runs_close(struct runs *r)
{
    free(r->threads);
    free(r->processors);
}

static void tell(struct runs *r, int32_t processor)
{
    const struct seat *s = &r->processors[processor];
    if (s->count == 1)
        r->tell(r->context, (uint32_t)processor, (int64_t)s->numbers + 1,
                r->threads[s->numbers].doing);
    else
        r->tell(r->context, (uint32_t)processor, -(int64_t)s->count, 0);
}

/* Adds or removes a running thread. by: 1, or UINT32_MAX to subtract 1. */
static void join(struct runs *r, uint32_t thread, uint32_t by)
{
    const struct runner *t = &r->threads[thread];
    if (!t->running || t->processor < 0)
        return;
    struct seat *s = &r->processors[t->processor];
    s->count += by;
    s->numbers ^= thread;
    tell(r, t->processor);
}

static void change(struct runs *r, uint32_t thread, struct runner to)
{
    struct runner *t = &r->threads[thread];
    if (t->processor == to.processor && t->running == to.running)
        return;
    join(r, thread, UINT32_MAX);
    *t = to;
    join(r, thread, 1);
}

void runs_moves(struct runs *r, uint32_t thread, int32_t processor)
{
    struct runner to = r->threads[thread];
    to.processor = processor;
    change(r, thread, to);
}

void runs_is(struct runs *r, uint32_t thread, bool running)
{
    struct runner to = r->threads[thread];
    to.running = running;
    change(r, thread, to);
}

void runs_does(struct runs *r, uint32_t thread, int64_t doing)
{
    struct runner *t = &r->threads[thread];
    t->doing = doing;
    if (t->running && t->processor >= 0)
        tell(r, t->processor);
}
