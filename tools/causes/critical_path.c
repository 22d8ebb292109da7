/* SPDX-License-Identifier: BSD-3-Clause
 * Goes back over each window of all ranks once. Windows that overlap in time are one. */
#include "tools/causes/critical_path.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A rank's part of a window. */
struct part {
    int32_t ordinal;
    uint32_t stream;
    size_t first, last; /* its edges */
    int64_t open, close;
};

/* Calls of a thread in the present phase. */
struct extent {
    size_t first, last; /* its edges; last 0: it has no part in the phase */
    size_t cursor;      /* the path has not been at the calls before this */
};

struct walk {
    struct critical_path *out;
    const struct history *history;
    uint32_t ranks; /* of the world; 0: unknown */
    struct part *parts;
    size_t count, room;
    struct extent *extents; /* by stream */
    double *on_rank;        /* time of the present path */
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
        if (!past_is_edge(c) || past_begins(c) || !window_span_has(windows, c->window) ||
            !history_is_in_mpi(w->history, stream, first, i))
            continue;
        void *parts = array_grown(w->parts, w->count, &w->room, sizeof *w->parts);
        if (parts == NULL)
            return -ENOMEM;
        w->parts = parts;
        w->parts[w->count++] =
            (struct part){c->window, stream, first, i, t->calls[first].end, c->begin};
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
    const struct extent *to = &w->extents[x->for_stream];
    if (call != SIZE_MAX && call > to->first && call < to->cursor)
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
        w->extents[stream].cursor = call;
        if (call - 1 == w->extents[stream].first)
            break;
        const struct past_wait *x = past_wait_of(t, c);
        size_t late = crosses(w, c, x);
        now = late == SIZE_MAX ? c->begin : x->for_ns;
        add_call(w, c->place, now, c->end);
        if (late == SIZE_MAX) {
            call--;
            continue;
        }
        w->extents[stream].cursor = call - 1;
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

/* Adds what a rank did in the phase, without waiting. */
static int add_means(struct walk *w, uint32_t stream)
{
    const struct past_thread *t = history_thread(w->history, stream);
    int rc = 0;
    for (size_t i = w->extents[stream].first + 1; rc == 0 && i <= w->extents[stream].last; i++) {
        const struct past_call *c = &t->calls[i];
        rc = history_between(t, i, INT64_MIN, INT64_MAX, add_mean, w);
        if (rc == 0 && !past_is_edge(c))
            rc = add_mean(w, c->place, c->end - past_waits_until(t, c));
    }
    return rc;
}

/* Adds the path of the phase to that of the run. */
static void end_path(struct walk *w)
{
    struct critical_window *x = w->window;
    w->out->length_ns += (double)(x->end - x->begin);
    for (uint32_t i = 0; i < w->out->rank_count; i++) {
        if (w->on_rank[i] > x->longest_ns) {
            x->longest_ns = w->on_rank[i];
            x->longest_rank = (int32_t)i;
        }
        w->out->ranks[i] += w->on_rank[i];
        w->on_rank[i] = 0;
    }
}

/* Takes a phase: the ranks' parts of its windows, by window. */
static int take_phase(struct walk *w, const struct part *parts, size_t count)
{
    const struct part *last = parts;
    struct critical_window *x = w->window;
    for (size_t i = 0; i < count; i++) {
        struct extent *k = &w->extents[parts[i].stream];
        const struct past_call *calls = history_thread(w->history, parts[i].stream)->calls;
        x->has_gaps |= calls[parts[i].first].place == EDGE_DROPPED;
        last = parts[i].close > last->close ? &parts[i] : last;
        if (k->last == 0) {
            k->first = parts[i].first;
            x->processes++;
        }
        k->last = k->cursor = parts[i].last;
    }
    x->end = last->close;
    w->processes = x->processes;
    int rc = go_back(w, last->stream, last->last);
    end_path(w);
    for (size_t i = 0; i < count; i++) {
        struct extent *k = &w->extents[parts[i].stream];
        if (rc == 0 && k->last != 0)
            rc = add_means(w, parts[i].stream);
        *k = (struct extent){0};
    }
    return rc;
}

static struct critical_window *add_window(struct walk *w, int32_t ordinal)
{
    struct critical_path *out = w->out;
    void *windows =
        array_grown(out->windows, out->window_count, &out->window_room, sizeof *out->windows);
    if (windows == NULL)
        return NULL;
    out->windows = windows;
    w->window = &out->windows[out->window_count++];
    *w->window = (struct critical_window){
        .ordinal = ordinal, .last_ordinal = ordinal, .end = INT64_MIN, .longest_rank = -1};
    return w->window;
}

/* Returns how many parts from this one on are of the same window. */
static size_t parts_of_window(const struct walk *w, size_t i)
{
    size_t n = 1;
    while (i + n < w->count && w->parts[i + n].ordinal == w->parts[i].ordinal)
        n++;
    return n;
}

/* Leaves out windows that not all ranks have. */
static int leave_partial(struct walk *w)
{
    size_t kept = 0;
    for (size_t i = 0, n; i < w->count; i += n) {
        n = parts_of_window(w, i);
        if (n >= w->ranks) {
            memmove(&w->parts[kept], &w->parts[i], n * sizeof *w->parts);
            kept += n;
            continue;
        }
        struct critical_window *x = add_window(w, w->parts[i].ordinal);
        if (x == NULL)
            return -ENOMEM;
        x->processes = (uint32_t)n;
        x->is_partial = true;
    }
    w->count = kept;
    return 0;
}

/* Returns when the first one opens and the last one closes of these parts. */
static struct part hull_of(const struct part *parts, size_t count)
{
    struct part hull = parts[0];
    for (size_t i = 1; i < count; i++) {
        hull.open = parts[i].open < hull.open ? parts[i].open : hull.open;
        hull.close = parts[i].close > hull.close ? parts[i].close : hull.close;
    }
    return hull;
}

/* Returns how many parts from this one on are of one phase. */
static size_t parts_of_phase(const struct walk *w, size_t i)
{
    size_t n = parts_of_window(w, i);
    struct part last = hull_of(&w->parts[i], n);
    int64_t close = last.close;
    while (i + n < w->count) {
        size_t more = parts_of_window(w, i + n);
        const struct part next = hull_of(&w->parts[i + n], more);
        if (!windows_overlap(last.close - last.open, close, next.open, next.close))
            break;
        last = next;
        close = next.close > close ? next.close : close;
        n += more;
    }
    return n;
}

static int by_ordinal(const void *a, const void *b)
{
    const struct critical_window *x = a, *y = b;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static int take_windows(struct walk *w)
{
    int rc = leave_partial(w);
    for (size_t i = 0, n; rc == 0 && i < w->count; i += n) {
        n = parts_of_phase(w, i);
        struct critical_window *x = add_window(w, w->parts[i].ordinal);
        if (x == NULL)
            return -ENOMEM;
        x->last_ordinal = w->parts[i + n - 1].ordinal;
        rc = take_phase(w, &w->parts[i], n);
    }
    if (w->out->window_count > 0)
        qsort(w->out->windows, w->out->window_count, sizeof *w->out->windows, by_ordinal);
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
    w.extents = calloc(threads + 1u, sizeof *w.extents);
    bool has_room =
        out->activities != NULL && out->ranks != NULL && w.on_rank != NULL && w.extents != NULL;
    if (rc == 0)
        rc = has_room ? take_windows(&w) : -ENOMEM;
    free(w.on_rank);
    free(w.extents);
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
