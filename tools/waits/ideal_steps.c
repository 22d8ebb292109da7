/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the calls of all threads, the edges of what is known of them, and what calls depend on. */
#include "tools/waits/ideal_steps.h"

#include "base/format/event_fields.h"
#include "base/search.h"
#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ideal_steps *ideal_steps_open(const struct streams *streams)
{
    struct ideal_steps *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    (void)streams_all(streams, &t->thread_count);
    t->threads = calloc(t->thread_count + 1u, sizeof *t->threads);
    t->spans = mpi_spans_open(streams);
    if (t->threads != NULL && t->spans != NULL)
        return t;
    ideal_steps_close(t);
    return NULL;
}

void ideal_steps_close(struct ideal_steps *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; t->threads != NULL && i < t->thread_count; i++)
        free(t->threads[i].steps);
    free(t->threads);
    free(t->needs);
    mpi_spans_close(t->spans);
    free(t);
}

static int add_step(struct thread_steps *c, enum step_kind kind, int64_t ns, int32_t ordinal)
{
    void *steps = array_grown(c->steps, c->count, &c->room, sizeof *c->steps);
    bool is_call = kind <= STEP_INITIALIZES;
    if (steps == NULL)
        return -ENOMEM;
    c->steps = steps;
    c->steps[c->count++] = (struct step){.begin = ns,
                                         .end = is_call ? INT64_MAX : ns,
                                         .logical = INT64_MIN,
                                         .needs = STEPS_NONE,
                                         .meeting = STEPS_NONE,
                                         .ordinal = ordinal,
                                         .kind = (uint8_t)kind};
    return 0;
}

static int add_edge(struct thread_steps *c, enum step_kind kind, int64_t ns, int32_t ordinal)
{
    c->depth = 0;
    return add_step(c, kind, ns, ordinal);
}

/* MPI_Init and MPI_Finalize are no part of the run: its processes start and end there. */
static int enter(struct thread_steps *c, const struct stream_record *r)
{
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    if (c->depth++ != 0)
        return 0;
    if (strcmp(event_mpi_name(function), "MPI_Finalize") == 0)
        return add_step(c, STEP_CLOSES, r->ns, -1);
    return add_step(c, event_mpi_initializes(function) ? STEP_INITIALIZES : STEP_CALL, r->ns, -1);
}

static void leave(struct thread_steps *c, const struct stream_record *r)
{
    if (c->depth == 0 || --c->depth != 0)
        return;
    struct step *x = &c->steps[c->count - 1];
    if (x->kind <= STEP_INITIALIZES)
        x->end = r->ns;
}

/* Takes an MPI_Init or MPI_Finalize that is not among the thread's calls. */
static int change(struct thread_steps *c, enum mpi_change_kind kind, int64_t ns)
{
    if (kind == MPI_GOES_DOWN)
        return add_edge(c, STEP_CLOSES, ns, -1);
    int rc = c->depth == 0 ? add_step(c, STEP_INITIALIZES, ns, -1) : 0;
    if (rc == 0 && c->depth == 0)
        c->steps[c->count - 1].end = ns;
    else if (rc == 0 && c->steps[c->count - 1].kind == STEP_CALL)
        c->steps[c->count - 1].kind = STEP_INITIALIZES;
    return rc;
}

int ideal_steps_take(struct ideal_steps *t, const struct stream_record *r)
{
    struct thread_steps *c = &t->threads[r->stream];
    struct mpi_change x = mpi_spans_take(t->spans, r);
    if (x.kind != MPI_STAYS && change(&t->threads[x.main], x.kind, r->ns) != 0)
        return -ENOMEM;
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enter(c, r);
    if (EVENT_IS_MPI_LEAVE(r->event.code))
        leave(c, r);
    else if (r->event.code == EV_WINDOW_OPEN)
        return add_edge(c, STEP_OPENS, r->ns,
                        (int32_t)EVENT_GET(&r->event, EV_WINDOW_OPEN, ordinal));
    else if (r->event.code == EV_WINDOW_CLOSE)
        return add_edge(c, STEP_CLOSES, r->ns, -1);
    else if (r->event.code == EV_DROPPED)
        return add_edge(c, STEP_DROPS, r->ns, -1);
    return 0;
}

/* Returns the index of the call in which this time lies; SIZE_MAX: in none. */
static size_t find_call(const struct thread_steps *c, int64_t ns)
{
    size_t n;
    SEARCH_FIRST(n, c->count, c->steps[n].begin <= ns);
    return n > 0 && c->steps[n - 1].kind <= STEP_INITIALIZES && c->steps[n - 1].end >= ns
               ? n - 1
               : SIZE_MAX;
}

static void add_need(struct ideal_steps *t, struct step *call, struct need need)
{
    void *needs = array_grown(t->needs, t->need_count, &t->need_room, sizeof *t->needs);
    if (needs == NULL || t->need_count >= STEPS_NONE) {
        t->no_memory = true;
        return;
    }
    t->needs = needs;
    need.before = call->needs;
    t->needs[t->need_count] = need;
    call->needs = (uint32_t)t->need_count++;
}

void ideal_steps_need(struct ideal_steps *t, uint32_t stream, int64_t ns, uint32_t other,
                      int64_t other_ns, bool first)
{
    struct thread_steps *c = &t->threads[stream];
    size_t call = find_call(c, ns), step = find_call(&t->threads[other], other_ns);
    if (call != SIZE_MAX && step != SIZE_MAX)
        add_need(
            t, &c->steps[call],
            (struct need){.stream = other, .step = step, .meeting = STEPS_NONE, .first = first});
}

/* Returns the thread's call that has not ended; NULL: it is in none. */
static struct step *open_call(struct ideal_steps *t, uint32_t stream)
{
    struct thread_steps *c = &t->threads[stream];
    struct step *x = c->count > 0 ? &c->steps[c->count - 1] : NULL;
    return x != NULL && x->kind == STEP_CALL && x->end == INT64_MAX ? x : NULL;
}

void ideal_steps_await(struct ideal_steps *t, uint32_t stream, const struct meeting_part *part,
                       bool first)
{
    struct step *x = open_call(t, stream);
    if (x != NULL && part->need != NEEDS_NOTHING)
        add_need(t, x,
                 (struct need){
                     .meeting = part->meeting, .of_meeting = (uint8_t)part->need, .first = first});
}

void ideal_steps_meet(struct ideal_steps *t, uint32_t stream, const struct meeting_part *part)
{
    struct step *x = open_call(t, stream);
    if (x == NULL)
        return;
    x->meeting = part->meeting;
    x->need = (uint8_t)part->need;
    x->is_root = part->is_root;
    if (part->meeting >= t->meeting_count)
        t->meeting_count = part->meeting + 1;
}

void ideal_steps_fail(struct ideal_steps *t, uint32_t stream)
{
    struct thread_steps *c = &t->threads[stream];
    if (c->count > 0 && c->steps[c->count - 1].end == INT64_MAX)
        c->steps[c->count - 1].meeting = STEPS_NONE;
}
