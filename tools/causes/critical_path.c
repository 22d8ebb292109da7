/* SPDX-License-Identifier: BSD-3-Clause
 * Goes back over each window of all ranks once. */
#include "tools/causes/critical_path.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>

/* A rank's part of a window. */
struct part {
    int32_t ordinal;
    uint32_t stream;
    size_t first, last; /* its edges */
};

struct walk {
    struct critical_path *out;
    const struct history *history;
    uint32_t ranks; /* of the world; 0: unknown */
    struct part *parts;
    size_t count, room;
    size_t *cursor;  /* by stream: the path has not been at the calls before this; 0: not there */
    double *on_rank; /* time of the present path */
    /* Where add_path() adds. */
    struct critical_window *window;
    uint32_t stream;
    int64_t begin, end; /* of the stretch that it adds */
    double processes;
};

/* --- parts ------------------------------------------------------------------------------------ */

static int find_parts_of(struct walk *w, uint32_t stream, const struct window_span *windows)
{
    const struct past_thread *t = history_thread(w->history, stream);
    size_t first = 0;
    for (size_t i = 0; t->is_main && i < t->count; i++) {
        const struct past_call *c = &t->calls[i];
        if (past_begins(c))
            first = i;
        if (!past_is_edge(c) || past_begins(c) || i == first + 1 ||
            !window_span_has(windows, c->window))
            continue;
        void *parts = array_grown(w->parts, w->count, &w->room, sizeof *w->parts);
        if (parts == NULL)
            return -ENOMEM;
        w->parts = parts;
        w->parts[w->count++] = (struct part){c->window, stream, first, i};
    }
    return 0;
}

static int by_window(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* --- a path ----------------------------------------------------------------------------------- */

static int add_path(void *context, uint32_t activity, int64_t ns)
{
    struct walk *w = context;
    struct critical_activity *a = &w->out->activities[activity];
    int32_t rank = history_thread(w->history, w->stream)->rank;
    a->path_ns += (double)ns;
    if ((double)ns > a->longest.ns)
        a->longest = (struct past_moment){(double)ns, w->begin, w->end, rank, w->window->ordinal};
    if (rank >= 0 && (uint32_t)rank < w->out->rank_count)
        w->on_rank[rank] += (double)ns;
    return 0;
}

/* Adds the end of a call, from a time on, up to where the path was. */
static void add_call(struct walk *w, uint32_t place, int64_t begin, int64_t end)
{
    w->begin = begin;
    w->end = end;
    (void)add_path(w, place, end - begin);
}

/* Returns the other thread's call to which the path crosses from this call; SIZE_MAX: it stays. */
static size_t crosses(struct walk *w, const struct past_call *c, const struct past_wait *x)
{
    if (x == NULL || x->for_ns > c->end)
        return SIZE_MAX;
    size_t call = history_find(history_thread(w->history, x->for_stream), x->for_ns);
    if (call != SIZE_MAX && call < w->cursor[x->for_stream])
        return call;
    w->window->broken++;
    return SIZE_MAX;
}

/* Goes back from the edge of a thread at which the window ends. */
static int go_back(struct walk *w, uint32_t stream, size_t call)
{
    const struct past_thread *t = history_thread(w->history, stream);
    int64_t now = t->calls[call].begin;
    for (;;) {
        const struct past_call *c = &t->calls[call - 1];
        w->stream = stream;
        w->begin = c->end;
        w->end = now;
        if (history_between(t, call, c->end, now, add_path, w) != 0)
            return -ENOMEM;
        w->cursor[stream] = call;
        if (past_is_edge(c))
            break;
        const struct past_wait *x = past_wait_of(t, c);
        size_t late = crosses(w, c, x);
        now = late == SIZE_MAX ? c->begin : x->for_ns;
        add_call(w, c->place, now, c->end);
        if (late == SIZE_MAX) {
            call--;
            continue;
        }
        w->cursor[stream] = call - 1;
        stream = w->stream = x->for_stream;
        t = history_thread(w->history, stream);
        call = late;
        w->window->crossings++;
        if (t->calls[call].begin < now) /* the late call was within another one */
            add_call(w, t->calls[call].place, t->calls[call].begin, now);
        now = t->calls[call].begin;
    }
    w->window->begin = t->calls[call - 1].end;
    return 0;
}

/* --- windows ---------------------------------------------------------------------------------- */

static int add_mean(void *context, uint32_t activity, int64_t ns)
{
    struct walk *w = context;
    w->out->activities[activity].mean_ns += (double)ns / w->processes;
    return 0;
}

/* Adds what a rank did in the window, without waiting. */
static int add_means(struct walk *w, const struct part *p)
{
    const struct past_thread *t = history_thread(w->history, p->stream);
    int rc = 0;
    for (size_t i = p->first + 1; rc == 0 && i <= p->last; i++) {
        const struct past_call *c = &t->calls[i];
        rc = history_between(t, i, INT64_MIN, INT64_MAX, add_mean, w);
        if (rc == 0 && !past_is_edge(c))
            rc = add_mean(w, c->place, c->end - past_waits_until(t, c));
    }
    return rc;
}

static int take_window(struct walk *w, const struct part *parts, size_t count)
{
    const struct part *last = parts;
    struct critical_window *x = w->window;
    for (size_t i = 0; i < count; i++) {
        const struct past_call *calls = history_thread(w->history, parts[i].stream)->calls;
        int64_t open = calls[parts[i].first].end, close = calls[parts[i].last].begin;
        x->has_gaps |= calls[parts[i].first].place == EDGE_DROPPED;
        x->first_open = open < x->first_open ? open : x->first_open;
        if (close > x->end) {
            x->end = close;
            last = &parts[i];
        }
        w->cursor[parts[i].stream] = parts[i].last;
    }
    w->processes = (double)count;
    int rc = go_back(w, last->stream, last->last);
    w->out->length_ns += (double)(x->end - x->begin);
    for (size_t i = 0; i < count; i++) {
        w->cursor[parts[i].stream] = 0;
        if (rc == 0)
            rc = add_means(w, &parts[i]);
    }
    for (uint32_t i = 0; i < w->out->rank_count; i++) {
        if (w->on_rank[i] > x->longest_ns) {
            x->longest_ns = w->on_rank[i];
            x->longest_rank = (int32_t)i;
        }
        w->out->ranks[i] += w->on_rank[i];
        w->on_rank[i] = 0;
    }
    return rc;
}

static int take_windows(struct walk *w)
{
    struct critical_path *out = w->out;
    int rc = 0;
    for (size_t i = 0, n; rc == 0 && i < w->count; i += n) {
        for (n = 1; i + n < w->count && w->parts[i + n].ordinal == w->parts[i].ordinal;)
            n++;
        void *windows =
            array_grown(out->windows, out->window_count, &out->window_room, sizeof *out->windows);
        if (windows == NULL)
            return -ENOMEM;
        out->windows = windows;
        w->window = &out->windows[out->window_count++];
        *w->window = (struct critical_window){.ordinal = w->parts[i].ordinal,
                                              .processes = (uint32_t)n,
                                              .first_open = INT64_MAX,
                                              .end = INT64_MIN,
                                              .longest_rank = -1,
                                              .is_partial = n < w->ranks};
        if (!w->window->is_partial)
            rc = take_window(w, &w->parts[i], n);
    }
    return rc;
}

int critical_path_find(struct critical_path *out, const struct history *h, uint32_t ranks,
                       const struct window_span *windows)
{
    struct walk w = {.out = out, .history = h, .ranks = ranks};
    uint32_t threads = history_threads(h);
    int32_t most = -1;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < threads; i++) {
        most = history_thread(h, i)->rank > most ? history_thread(h, i)->rank : most;
        rc = find_parts_of(&w, i, windows);
    }
    if (w.count > 0)
        qsort(w.parts, w.count, sizeof *w.parts, by_window);
    *out = (struct critical_path){.rank_count = (uint32_t)(most + 1),
                                  .activity_count = activities_count(history_activities(h))};
    out->activities = calloc(out->activity_count + 1u, sizeof *out->activities);
    out->ranks = calloc(out->rank_count + 1u, sizeof *out->ranks);
    w.on_rank = calloc(out->rank_count + 1u, sizeof *w.on_rank);
    w.cursor = calloc(threads + 1u, sizeof *w.cursor);
    bool has_room =
        out->activities != NULL && out->ranks != NULL && w.on_rank != NULL && w.cursor != NULL;
    if (rc == 0)
        rc = has_room ? take_windows(&w) : -ENOMEM;
    free(w.on_rank);
    free(w.cursor);
    free(w.parts);
    return rc;
}

void critical_path_free(struct critical_path *p)
{
    free(p->windows);
    free(p->activities);
    free(p->ranks);
    *p = (struct critical_path){0};
}
