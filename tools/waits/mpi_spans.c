/* SPDX-License-Identifier: BSD-3-Clause
 * Notes when MPI comes up and goes down in each process. */
#include "tools/waits/mpi_spans.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

struct stream_span {
    uint32_t process; /* index of the first stream of its file */
    uint32_t main;    /* NONE: the process has no main thread here */
    int64_t opened;   /* when its last window opened */
    /* Of the process, at its first stream. */
    int64_t from, until; /* from INT64_MAX: not known */
};

struct mpi_spans {
    struct stream_span *of; /* by stream */
};

struct mpi_spans *mpi_spans_open(const struct streams *streams)
{
    struct mpi_spans *s = calloc(1, sizeof *s);
    uint32_t count;
    const struct thread_stream *all = streams_all(streams, &count);
    if (s == NULL || (s->of = calloc(count + 1u, sizeof *s->of)) == NULL) {
        free(s);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool is_first = i == 0 || all[i].rank != all[i - 1].rank;
        uint32_t process = is_first ? i : s->of[i - 1].process;
        s->of[i] = (struct stream_span){
            .process = process,
            .main = all[process].number == 0 ? process : NONE, /* they are in order */
            .opened = INT64_MIN,
            .from = INT64_MAX,
            .until = INT64_MAX};
    }
    return s;
}

/* MPI_Init has returned, at the latest. */
static enum mpi_change_kind come_up(struct stream_span *p, int64_t ns)
{
    if (p->from != INT64_MAX)
        return MPI_STAYS;
    p->from = ns;
    return MPI_COMES_UP;
}

/* MPI_Finalize has begun, at the latest. */
static enum mpi_change_kind go_down(struct stream_span *p, int64_t ns)
{
    if (p->until != INT64_MAX)
        return MPI_STAYS;
    p->until = ns;
    return MPI_GOES_DOWN;
}

static enum mpi_change_kind take(struct mpi_spans *s, const struct stream_record *r)
{
    struct stream_span *x = &s->of[r->stream], *p = &s->of[x->process];
    uint32_t code = r->event.code, function = EVENT_MPI_FUNCTION(code);
    bool is_cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    if (code == EV_WINDOW_OPEN)
        x->opened = r->ns;
    else if (code == EV_MPI_READY)
        return come_up(p, r->ns);
    else if (code == EV_MPI_DONE)
        return go_down(p, r->ns);
    else if (EVENT_IS_MPI_LEAVE(code) && !is_cut && event_mpi_initializes(function))
        return come_up(p, r->ns);
    else if (EVENT_IS_MPI_ENTER(code) && strcmp(event_mpi_name(function), "MPI_Finalize") == 0)
        return go_down(p, is_cut ? x->opened : r->ns); /* cut: the window opened within it */
    return MPI_STAYS;
}

struct mpi_change mpi_spans_take(struct mpi_spans *s, const struct stream_record *r)
{
    struct mpi_change change = {take(s, r), s->of[r->stream].main};
    bool is_call = EVENT_IS_MPI_ENTER(r->event.code) || EVENT_IS_MPI_LEAVE(r->event.code);
    if (change.main == NONE || (is_call && change.main == r->stream))
        change.kind = MPI_STAYS;
    return change;
}

bool mpi_spans_are_known(const struct mpi_spans *s, uint32_t stream)
{
    return s->of[s->of[stream].process].from != INT64_MAX;
}

bool mpi_spans_has(const struct mpi_spans *s, uint32_t stream, int64_t ns)
{
    const struct stream_span *p = &s->of[s->of[stream].process];
    return (p->from <= ns || p->from == INT64_MAX) && ns < p->until;
}

void mpi_spans_close(struct mpi_spans *s)
{
    if (s != NULL)
        free(s->of);
    free(s);
}
