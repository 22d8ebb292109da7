/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the logical clocks of all threads, and adds up each window. */
#include "tools/messages/ideal_times.h"

#include "base/format/event_fields.h"
#include "base/search.h"
#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct thread_clock {
    int64_t logical;
    int64_t since;          /* when the last call ended, or the window opened */
    int64_t opened, useful; /* opened: of its window */
    int64_t needs;          /* of the present call; INT64_MIN: nothing */
    uint32_t depth;
    int32_t ordinal; /* of its window; -1: outside */
    bool is_main, calls, has_gaps;
};

struct ideal_times {
    struct thread_clock *threads; /* by stream */
    uint32_t thread_count;
    struct ideal_window *windows; /* by ordinal */
    size_t window_count, window_room;
};

struct ideal_times *ideal_open(const struct streams *streams)
{
    struct ideal_times *t = calloc(1, sizeof *t);
    uint32_t count;
    const struct thread_stream *all = streams_all(streams, &count);
    if (t == NULL || (t->threads = calloc(count + 1u, sizeof *t->threads)) == NULL) {
        free(t);
        return NULL;
    }
    t->thread_count = count;
    for (uint32_t i = 0; i < count; i++) {
        t->threads[i].is_main = all[i].number == 0 && rt_rank_info(all[i].rank)->is_main;
        t->threads[i].ordinal = -1;
        t->threads[i].needs = INT64_MIN;
    }
    return t;
}

static struct ideal_window *window_of(struct ideal_times *t, int32_t ordinal)
{
    size_t n;
    SEARCH_FIRST(n, t->window_count, t->windows[n].ordinal < ordinal);
    if (n < t->window_count && t->windows[n].ordinal == ordinal)
        return &t->windows[n];
    void *more = array_grown(t->windows, t->window_count, &t->window_room, sizeof *t->windows);
    if (more == NULL)
        return NULL;
    t->windows = more;
    memmove(&t->windows[n + 1], &t->windows[n], (t->window_count - n) * sizeof *t->windows);
    t->windows[n] =
        (struct ideal_window){.ordinal = ordinal, .first_open = INT64_MAX, .last_close = INT64_MIN};
    t->window_count++;
    return &t->windows[n];
}

/* A thread's logical clock begins with the time at which its window opens. */
static void begin(struct thread_clock *c, int32_t ordinal, int64_t ns)
{
    *c = (struct thread_clock){.logical = ns,
                               .since = ns,
                               .opened = ns,
                               .needs = INT64_MIN,
                               .ordinal = ordinal,
                               .is_main = c->is_main};
}

/* Counts the time since the last call as the program's own. */
static void compute(struct thread_clock *c, int64_t ns)
{
    int64_t own = ns > c->since ? ns - c->since : 0;
    c->logical += own;
    c->useful += own;
    c->since = ns;
}

/* Adds the thread's part of its window, if it counts. */
static int close_window(struct ideal_times *t, struct thread_clock *c, int64_t ns)
{
    if (c->ordinal < 0)
        return 0;
    struct ideal_window *w = c->is_main && c->calls ? window_of(t, c->ordinal) : NULL;
    bool counts = c->is_main && c->calls;
    c->ordinal = -1;
    if (!counts)
        return 0;
    if (w == NULL)
        return -ENOMEM;
    if (c->depth == 0)
        compute(c, ns);
    w->processes++;
    w->useful += c->useful;
    w->most_useful = c->useful > w->most_useful ? c->useful : w->most_useful;
    w->first_open = c->opened < w->first_open ? c->opened : w->first_open;
    w->last_close = ns > w->last_close ? ns : w->last_close;
    w->last_logical = c->logical > w->last_logical ? c->logical : w->last_logical;
    w->ideal = w->last_logical - w->first_open;
    w->has_gaps |= c->has_gaps;
    return 0;
}

/* MPI_Init and MPI_Finalize are no part of the run: its processes start and end there. */
static int enter(struct ideal_times *t, struct thread_clock *c, const struct stream_record *r)
{
    if (c->depth++ != 0)
        return 0;
    if (strcmp(event_mpi_name(EVENT_MPI_FUNCTION(r->event.code)), "MPI_Finalize") == 0) {
        c->depth = 0;
        int rc = close_window(t, c, r->ns);
        c->depth = 1;
        return rc;
    }
    c->calls = true;
    c->needs = INT64_MIN;
    compute(c, r->ns);
    return 0;
}

static void leave(struct thread_clock *c, const struct stream_record *r)
{
    if (c->depth == 0 || --c->depth != 0)
        return;
    if (event_mpi_initializes(EVENT_MPI_FUNCTION(r->event.code)))
        begin(c, c->ordinal, r->ns);
    c->logical = c->needs > c->logical ? c->needs : c->logical;
    c->since = r->ns;
}

int ideal_take(struct ideal_times *t, const struct stream_record *r)
{
    struct thread_clock *c = &t->threads[r->stream];
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enter(t, c, r);
    if (EVENT_IS_MPI_LEAVE(r->event.code))
        leave(c, r);
    else if (r->event.code == EV_WINDOW_OPEN)
        begin(c, (int32_t)EVENT_GET(&r->event, EV_WINDOW_OPEN, ordinal), r->ns);
    else if (r->event.code == EV_WINDOW_CLOSE)
        return close_window(t, c, r->ns);
    if (r->event.code == EV_DROPPED) {
        c->depth = 0;
        c->has_gaps = true;
        c->since = r->ns;
    }
    return 0;
}

int64_t ideal_clock(const struct ideal_times *t, uint32_t stream)
{
    return t->threads[stream].logical;
}

void ideal_needs(struct ideal_times *t, uint32_t stream, int64_t logical, bool first)
{
    int64_t *needs = &t->threads[stream].needs;
    bool better = first ? logical < *needs : logical > *needs;
    if (*needs == INT64_MIN || better)
        *needs = logical;
}

int ideal_end(struct ideal_times *t)
{
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct thread_clock *c = &t->threads[i];
        struct ideal_window *w =
            c->ordinal >= 0 && c->is_main && c->calls ? window_of(t, c->ordinal) : NULL;
        if (w != NULL)
            w->unfinished++;
        else if (c->ordinal >= 0 && c->is_main && c->calls)
            return -ENOMEM;
    }
    return 0;
}

const struct ideal_window *ideal_windows(struct ideal_times *t, size_t *count)
{
    *count = t->window_count;
    return t->windows;
}

void ideal_close(struct ideal_times *t)
{
    if (t == NULL)
        return;
    free(t->threads);
    free(t->windows);
    free(t);
}
