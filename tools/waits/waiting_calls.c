/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps calls by thread, in the order of time. */
#include "tools/waits/waiting_calls.h"

#include "base/search.h"
#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 8192 };

struct calls {
    struct waiting_call *calls;
    size_t count, room;
};

struct waiting_calls {
    const struct comms *comms;
    struct calls *threads; /* by stream */
    uint32_t thread_count;
    void (*told)(void *context, const struct wait_state *w);
    void *context;
};

struct waiting_calls *waiting_calls_open(const struct comms *comms, uint32_t streams,
                                         void (*told)(void *context, const struct wait_state *w),
                                         void *context)
{
    struct waiting_calls *w = calloc(1, sizeof *w);
    if (w == NULL || (w->threads = calloc(streams + 1u, sizeof *w->threads)) == NULL) {
        free(w);
        return NULL;
    }
    w->comms = comms;
    w->thread_count = streams;
    w->told = told;
    w->context = context;
    return w;
}

struct waiting_call *waiting_calls_at(const struct waiting_calls *w, uint32_t stream, int64_t ns)
{
    const struct calls *t = &w->threads[stream];
    size_t n;
    SEARCH_FIRST(n, t->count, t->calls[n].begin <= ns);
    return n > 0 && t->calls[n - 1].end >= ns ? &t->calls[n - 1] : NULL;
}

/* Looks up the call that came late. Its path is known once it has ended. */
static void find_cause(const struct waiting_calls *w, struct waiting_call *c)
{
    if (c->until == INT64_MIN || c->cause.path != 0 || c->kind == WAIT_AT_COLLECTIVE)
        return;
    const struct waiting_call *late = waiting_calls_at(w, c->cause_stream, c->cause_ns);
    if (late != NULL)
        c->cause = (struct wait_place){late->function, c->cause_stream, late->path};
}

static void tell(const struct waiting_calls *w, uint32_t stream, struct waiting_call *c)
{
    int64_t until = c->until < c->end ? c->until : c->end;
    if (c->until == INT64_MIN || until <= c->begin)
        return;
    find_cause(w, c);
    const struct wait_state wait = {
        .kind = (enum wait_kind)c->kind,
        .rank = comms_world_rank(w->comms, comms_process_of(w->comms, stream)),
        .for_rank = c->for_rank,
        .for_stream = c->cause_stream,
        .window = c->window,
        .begin_ns = c->begin,
        .ns = until - c->begin,
        .for_ns = c->cause_ns,
        .site = {c->function, stream, c->path},
        .cause = c->cause};
    w->told(w->context, &wait);
}

int waiting_calls_enter(struct waiting_calls *w, uint32_t stream, int64_t ns, int32_t window,
                        uint32_t function)
{
    struct calls *t = &w->threads[stream];
    if (t->count == CALLS) { /* everything about the oldest calls is known by now */
        for (size_t i = 0; i < CALLS / 2; i++)
            tell(w, stream, &t->calls[i]);
        t->count -= CALLS / 2;
        memmove(t->calls, t->calls + CALLS / 2, t->count * sizeof *t->calls);
    }
    void *calls = array_grown(t->calls, t->count, &t->room, sizeof *t->calls);
    if (calls == NULL)
        return -ENOMEM;
    t->calls = calls;
    t->calls[t->count++] = (struct waiting_call){.begin = ns,
                                                 .end = INT64_MAX,
                                                 .until = INT64_MIN,
                                                 .window = window,
                                                 .function = (uint16_t)function};
    return 0;
}

/* Returns the thread's last call if it is open; else NULL. */
static struct waiting_call *open_call(const struct waiting_calls *w, uint32_t stream)
{
    const struct calls *t = &w->threads[stream];
    struct waiting_call *c = t->count > 0 ? &t->calls[t->count - 1] : NULL;
    return c != NULL && c->end == INT64_MAX ? c : NULL;
}

void waiting_calls_leave(struct waiting_calls *w, uint32_t stream, int64_t ns, uint32_t path)
{
    struct waiting_call *c = open_call(w, stream);
    if (c == NULL)
        return;
    c->end = ns;
    c->path = path;
    find_cause(w, c);
}

void waiting_calls_forget(struct waiting_calls *w, uint32_t stream)
{
    if (open_call(w, stream) != NULL)
        w->threads[stream].count--;
}

bool waiting_call_needs(const struct waiting_call *c, int64_t ns)
{
    switch (event_mpi_waits(c->function)) {
    case EVENT_MPI_WAITS_MESSAGES: return c->until == INT64_MIN || ns > c->until;
    case EVENT_MPI_WAITS_FIRST_MESSAGE: return c->until == INT64_MIN || ns < c->until;
    default: return false;
    }
}

void waiting_calls_until(const struct waiting_calls *w, struct waiting_call *c, enum wait_kind kind,
                         int32_t for_rank, uint32_t stream, int64_t ns)
{
    c->kind = (uint8_t)kind;
    c->until = ns;
    c->for_rank = for_rank;
    c->cause_stream = stream;
    c->cause_ns = ns;
    c->cause = (struct wait_place){.function = EVENT_MPI_FUNCTIONS_MOST, .stream = stream};
    find_cause(w, c);
}

void waiting_calls_await(const struct waiting_calls *w, struct waiting_call *c, int32_t for_rank,
                         int64_t until, uint32_t cause_stream, int64_t cause_ns,
                         const struct wait_place *cause)
{
    waiting_calls_until(w, c, WAIT_AT_COLLECTIVE, for_rank, cause_stream, cause_ns);
    c->until = until;
    c->cause = *cause;
}

void waiting_calls_end(struct waiting_calls *w)
{
    for (uint32_t s = 0; s < w->thread_count; s++)
        for (size_t i = 0; i < w->threads[s].count; i++)
            tell(w, s, &w->threads[s].calls[i]);
}

void waiting_calls_close(struct waiting_calls *w)
{
    if (w == NULL)
        return;
    for (uint32_t s = 0; s < w->thread_count; s++)
        free(w->threads[s].calls);
    free(w->threads);
    free(w);
}
