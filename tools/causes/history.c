/* SPDX-License-Identifier: BSD-3-Clause
 * Notes the calls of each thread, and what it did between them: in which of its functions and named
 * regions it was, as far as these are recorded. */
#include "tools/causes/history.h"

#include "base/format/event_fields.h"
#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/waits/mpi_spans.h"
#include "tools/mpi_leave.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MOST = 64, SLICES_MOST = 64 };

/* A thread while its events are read. */
struct present {
    uint32_t depth; /* of MPI calls */
    uint32_t told_path;
    int64_t begin; /* of the outermost call */
    bool is_known; /* a window is open, and MPI_Finalize has not begun */
    int32_t window;
    /* Functions and regions that are open, the innermost last; further ones are only counted. */
    uint32_t open[OPEN_MOST];
    size_t open_count;
    size_t enclosing; /* so many of them have been open since the last call */
    /* Time since the last call, by the innermost of them; KEY_NONE: none is open. */
    struct past_part slices[SLICES_MOST];
    size_t slice_count;
    int64_t since;
};

struct history {
    const struct comms *comms;
    struct mpi_spans *spans;
    struct history_names names;
    struct activities activities;
    struct past_thread *threads; /* by stream */
    struct present *presents;
    uint32_t count;
};

struct history *history_open(const struct streams *streams, const struct comms *comms,
                             const struct history_names *names)
{
    struct history *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    const struct thread_stream *all = streams_all(streams, &h->count);
    h->comms = comms;
    h->names = *names;
    h->threads = calloc(h->count + 1u, sizeof *h->threads);
    h->presents = calloc(h->count + 1u, sizeof *h->presents);
    h->spans = mpi_spans_open(streams);
    if (h->threads == NULL || h->presents == NULL || h->spans == NULL ||
        activities_begin(&h->activities) != 0) {
        history_close(h);
        return NULL;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        h->threads[i].rank = comms_world_rank(comms, comms_process_of(comms, i));
        h->threads[i].is_main = all[i].number == 0 && rt_rank_info(all[i].rank)->is_main;
    }
    return h;
}

/* --- time between calls ----------------------------------------------------------------------- */

/* Gives the time since the last event to the innermost open function or region. Where too many take
 * turns between two calls, the last slice has the rest. */
static void slice(struct present *p, int64_t ns)
{
    size_t depth = p->open_count < OPEN_MOST ? p->open_count : OPEN_MOST, i = 0;
    uint32_t activity = depth > 0 ? p->open[depth - 1] : KEY_NONE;
    while (i < p->slice_count && p->slices[i].activity != activity && i + 1 < SLICES_MOST)
        i++;
    if (i == p->slice_count)
        p->slices[p->slice_count++] = (struct past_part){.activity = activity};
    p->slices[i].ns += ns > p->since ? ns - p->since : 0;
    p->since = ns;
}

/* Counts the time outside functions that began or ended since the last call as `between`. */
static void merge_slices(struct present *p, uint32_t between)
{
    bool is_known = p->enclosing > 0 && p->enclosing <= OPEN_MOST;
    uint32_t enclosing = is_known ? p->open[p->enclosing - 1] : KEY_NONE;
    size_t kept = 0, own = SIZE_MAX;
    for (size_t i = 0; i < p->slice_count; i++) {
        struct past_part x = p->slices[i];
        bool is_own = x.activity == KEY_NONE || x.activity == enclosing;
        if (is_own && own != SIZE_MAX) {
            p->slices[own].ns += x.ns;
            continue;
        }
        if (is_own) {
            own = kept;
            x.activity = between;
        }
        p->slices[kept++] = x;
    }
    p->slice_count = kept;
}

/* Notes what the thread did since its last call. Sets *before. */
static int end_slices(struct past_thread *t, struct present *p, uint32_t between, uint32_t *before)
{
    *before = between;
    merge_slices(p, between);
    if (p->slice_count == 1)
        *before = p->slices[0].activity;
    if (p->slice_count > 1)
        *before = PAST_PARTS | (uint32_t)t->part_count;
    for (size_t i = 0; p->slice_count > 1 && i < p->slice_count; i++) {
        void *parts = array_grown(t->parts, t->part_count, &t->part_room, sizeof *t->parts);
        if (parts == NULL)
            return -ENOMEM;
        t->parts = parts;
        p->slices[i].left = (uint32_t)(p->slice_count - i - 1);
        t->parts[t->part_count++] = p->slices[i];
    }
    p->slice_count = 0;
    p->enclosing = p->open_count;
    return 0;
}

/* Returns the activity of a named region that begins; KEY_NONE without memory. */
static uint32_t region_of(struct history *h, const struct stream_record *r)
{
    uint32_t number = h->names.region(h->names.context, comms_process_of(h->comms, r->stream),
                                      (uint32_t)EVENT_GET(&r->event, EV_REGION_BEGIN, region));
    return number != KEY_NONE ? activities_add(&h->activities, ACTIVITY_REGION, number, 0)
                              : KEY_NONE;
}

/* Returns the activity of a function that begins, by its call site; KEY_NONE without memory. The
 * call itself ends before the return address. */
static uint32_t function_of(struct history *h, const struct stream_record *r)
{
    const struct history_names *n = &h->names;
    uint32_t process = comms_process_of(h->comms, r->stream), site = KEY_NONE;
    uint64_t after = EVENT_GET(&r->event, EV_FUNCTION_ENTER, call_site), clock = r->event.clock;
    uint32_t number = n->function(n->context, process, r->event.a, clock);
    if (after != 0 && (site = n->function(n->context, process, after - 1, clock)) == KEY_NONE)
        return KEY_NONE;
    return number != KEY_NONE ? activities_add(&h->activities, ACTIVITY_FUNCTION, number, site)
                              : KEY_NONE;
}

/* Takes the begin or end of a function or region. */
static int take_nesting(struct history *h, const struct stream_record *r, bool begins)
{
    struct present *p = &h->presents[r->stream];
    if (p->depth == 0 && p->is_known)
        slice(p, r->ns);
    if (!begins) {
        p->open_count -= p->open_count > 0;
        p->enclosing = p->open_count < p->enclosing ? p->open_count : p->enclosing;
        return 0;
    }
    uint32_t activity = r->event.code == EV_REGION_BEGIN ? region_of(h, r) : function_of(h, r);
    if (activity == KEY_NONE)
        return -ENOMEM;
    if (p->open_count < OPEN_MOST)
        p->open[p->open_count] = activity;
    p->open_count++;
    return 0;
}

/* --- calls and edges -------------------------------------------------------------------------- */

static int append(struct history *h, uint32_t stream, struct past_call c)
{
    struct past_thread *t = &h->threads[stream];
    struct present *p = &h->presents[stream];
    uint32_t between = c.place;
    void *calls = array_grown(t->calls, t->count, &t->room, sizeof *t->calls);
    if (calls == NULL || c.place == KEY_NONE)
        return -ENOMEM;
    t->calls = calls;
    if (!past_begins(&c)) {
        uint32_t last = t->calls[t->count - 1].place;
        between = activities_add(&h->activities, ACTIVITY_BETWEEN, last, c.place);
        if (between == KEY_NONE)
            return -ENOMEM;
    }
    if (end_slices(t, p, between, &c.before) != 0)
        return -ENOMEM;
    t->calls[t->count++] = c;
    p->since = c.end;
    return 0;
}

static int edge(struct history *h, uint32_t stream, int64_t ns, enum activity_edge which)
{
    struct present *p = &h->presents[stream];
    p->is_known = which <= EDGE_DROPPED;
    p->depth = 0;
    p->told_path = 0;
    if (p->is_known)
        p->slice_count = 0;
    else
        slice(p, ns);
    const struct past_call c = {.begin = ns, .end = ns, .place = which, .window = p->window};
    return append(h, stream, c);
}

/* Takes an MPI_Init or MPI_Finalize that is not among the thread's calls. */
static int change(struct history *h, uint32_t stream, enum mpi_change_kind kind, int64_t ns)
{
    enum activity_edge which = kind == MPI_COMES_UP ? EDGE_INITIALIZED : EDGE_FINALIZES;
    return h->presents[stream].is_known ? edge(h, stream, ns, which) : 0;
}

static int enter(struct history *h, const struct stream_record *r)
{
    struct present *p = &h->presents[r->stream];
    if (p->depth++ != 0 || !p->is_known)
        return 0;
    if (strcmp(event_mpi_name(EVENT_MPI_FUNCTION(r->event.code)), "MPI_Finalize") == 0) {
        int rc = edge(h, r->stream, r->ns, EDGE_FINALIZES);
        p->depth = 1;
        return rc;
    }
    slice(p, r->ns);
    p->begin = r->ns;
    return 0;
}

static int leave(struct history *h, const struct stream_record *r)
{
    struct present *p = &h->presents[r->stream];
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    uint32_t path = mpi_leave_path(&r->event, &p->told_path);
    if (p->depth == 0 || --p->depth != 0 || !p->is_known)
        return 0;
    if (event_mpi_initializes(function))
        return edge(h, r->stream, r->ns, EDGE_INITIALIZED);
    uint32_t process = comms_process_of(h->comms, r->stream);
    uint32_t node = h->names.node(h->names.context, process, path);
    const struct past_call c = {.begin = p->begin,
                                .end = r->ns,
                                .place =
                                    activities_add(&h->activities, ACTIVITY_CALL, function, node),
                                .window = p->window};
    return append(h, r->stream, c);
}

static int open_window(struct history *h, const struct stream_record *r)
{
    struct present *p = &h->presents[r->stream];
    p->open_count = 0;
    p->window = (int32_t)EVENT_GET(&r->event, EV_WINDOW_OPEN, ordinal);
    return edge(h, r->stream, r->ns, EDGE_OPENS);
}

int history_take(struct history *h, const struct stream_record *r)
{
    struct present *p = &h->presents[r->stream];
    struct mpi_change x = mpi_spans_take(h->spans, r);
    if (x.kind != MPI_STAYS && change(h, x.main, x.kind, r->ns) != 0)
        return -ENOMEM;
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enter(h, r);
    if (EVENT_IS_MPI_LEAVE(r->event.code))
        return leave(h, r);
    switch (r->event.code) {
    case EV_WINDOW_OPEN: return open_window(h, r);
    case EV_DROPPED: p->open_count = 0; return edge(h, r->stream, r->ns, EDGE_DROPPED);
    case EV_WINDOW_CLOSE: return p->is_known ? edge(h, r->stream, r->ns, EDGE_CLOSES) : 0;
    case EV_MPI_CALL_PATH:
        p->told_path = (uint32_t)EVENT_GET(&r->event, EV_MPI_CALL_PATH, path);
        return 0;
    case EV_FUNCTION_ENTER:
    case EV_REGION_BEGIN: return take_nesting(h, r, true);
    case EV_FUNCTION_LEAVE:
    case EV_REGION_END: return take_nesting(h, r, false);
    default: return 0;
    }
}

/* --- looking up ------------------------------------------------------------------------------- */

size_t history_find(const struct past_thread *t, int64_t ns)
{
    size_t n;
    SEARCH_FIRST(n, t->count, t->calls[n].begin <= ns);
    while (n > 0 && past_is_edge(&t->calls[n - 1]) && t->calls[n - 1].begin == ns)
        n--;
    return n > 0 && t->calls[n - 1].end >= ns && !past_is_edge(&t->calls[n - 1]) ? n - 1 : SIZE_MAX;
}

/* Returns how much of a part of the time between two calls counts, if only ns of `all` do. */
static int64_t share(int64_t part, int64_t ns, int64_t all)
{
    return ns == all ? part : (int64_t)((double)part * (double)ns / (double)all);
}

int history_between(const struct past_thread *t, size_t call, int64_t from, int64_t until,
                    int (*take)(void *context, uint32_t activity, int64_t ns), void *context)
{
    const struct past_call *c = &t->calls[call];
    int64_t begin = call > 0 ? t->calls[call - 1].end : INT64_MIN;
    int64_t ns = past_overlap(begin, c->begin, from, until);
    if ((c->before & PAST_PARTS) == 0 || ns == 0)
        return ns > 0 ? take(context, c->before, ns) : 0;
    const struct past_part *p = &t->parts[c->before & ~PAST_PARTS];
    int rc = take(context, p->activity, share(p->ns, ns, c->begin - begin));
    while (rc == 0 && p->left != 0) {
        p++;
        rc = take(context, p->activity, share(p->ns, ns, c->begin - begin));
    }
    return rc;
}

int history_wait(struct history *h, const struct wait_state *w)
{
    struct past_thread *t = &h->threads[w->site.stream];
    size_t n = history_find(t, w->begin_ns);
    if (n == SIZE_MAX)
        return -ENOENT;
    void *waits = array_grown(t->waits, t->wait_count, &t->wait_room, sizeof *t->waits);
    if (waits == NULL)
        return -ENOMEM;
    t->waits = waits;
    int64_t until_cause = w->for_ns - w->begin_ns;
    t->waits[t->wait_count++] = (struct past_wait){.ns = w->ns < until_cause ? w->ns : until_cause,
                                                   .for_ns = w->for_ns,
                                                   .for_stream = w->for_stream,
                                                   .window = w->window};
    t->calls[n].wait = (uint32_t)t->wait_count;
    return 0;
}

bool history_is_in_mpi(const struct history *h, uint32_t stream, size_t first, size_t last)
{
    const struct past_call *calls = h->threads[stream].calls;
    return mpi_spans_has(h->spans, stream, calls[first].end) &&
           calls[first].end < calls[last].begin &&
           (last > first + 1 || mpi_spans_are_known(h->spans, stream));
}

struct past_thread *history_thread(const struct history *h, uint32_t stream)
{
    return &h->threads[stream];
}

uint32_t history_threads(const struct history *h)
{
    return h->count;
}

const struct activities *history_activities(const struct history *h)
{
    return &h->activities;
}

void history_close(struct history *h)
{
    if (h == NULL)
        return;
    for (uint32_t i = 0; h->threads != NULL && i < h->count; i++) {
        free(h->threads[i].calls);
        free(h->threads[i].waits);
        free(h->threads[i].parts);
    }
    activities_free(&h->activities);
    mpi_spans_close(h->spans);
    free(h->presents);
    free(h->threads);
    free(h);
}
