/* SPDX-License-Identifier: BSD-3-Clause
 * Replays the steps of all threads with logical clocks, and adds up each window. */
#include "tools/waits/ideal_times.h"

#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/streams/heap.h"
#include "tools/waits/covered_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* When the ranks of a meeting come, by their logical clocks. */
struct meeting_times {
    int64_t latest, of_root; /* INT64_MIN: nobody yet */
};

struct thread_clock {
    struct step *steps;
    size_t count;
    bool is_main;
    int32_t rank;
    size_t at; /* the next step */
    int64_t logical;
    int64_t since;          /* when the last call ended, or the window opened */
    int64_t opened, useful; /* of its window */
    int64_t opened_logical; /* its logical clock then */
    int64_t all_useful;     /* of all its windows that count */
    uint64_t phase;         /* in which its last window opened */
    int32_t ordinal;        /* of its window; -1: outside */
    bool is_inside;         /* in a call */
    bool is_up;             /* MPI, since its window opened, or what counts of it */
    bool calls, has_gaps;
    bool has_ended; /* a window that counts */
};

struct ideal_times {
    struct thread_clock *threads; /* by stream */
    uint32_t thread_count;
    const struct ideal_steps *steps;
    struct meeting_times *meetings; /* by number */
    struct ideal_window *windows;   /* by ordinal */
    size_t window_count, window_room;
    const struct window_span *span;
    struct covered_time stays; /* of main threads, in windows of the span */
    uint32_t inside;           /* main threads that are in such a window now */
    /* The phase: time in which there are some. */
    uint64_t phase;
    int64_t first_logical, last_logical; /* of it; first > last: none has ended */
    int64_t ideal;                       /* of all phases before */
};

/* --- windows ---------------------------------------------------------------------------------- */

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
    t->windows[n] = (struct ideal_window){.ordinal = ordinal,
                                          .most_useful_rank = -1,
                                          .first_open = INT64_MAX,
                                          .last_close = INT64_MIN,
                                          .first_logical = INT64_MAX,
                                          .last_logical = INT64_MIN};
    t->window_count++;
    return &t->windows[n];
}

/* Begins a window, or what counts of it, with this logical clock. */
static void begin(struct thread_clock *c, int32_t ordinal, int64_t ns, int64_t logical)
{
    c->logical = c->opened_logical = logical;
    c->since = c->opened = ns;
    c->useful = 0;
    c->ordinal = ordinal;
    c->is_inside = c->calls = c->has_gaps = false;
}

static void end_phase(struct ideal_times *t)
{
    if (t->first_logical < t->last_logical)
        t->ideal += t->last_logical - t->first_logical;
    t->first_logical = INT64_MAX;
    t->last_logical = INT64_MIN;
    t->phase++;
}

static bool counts_in(const struct ideal_times *t, const struct thread_clock *c)
{
    return c->is_main && c->is_up && c->ordinal >= 0 && window_span_has(t->span, c->ordinal);
}

/* Returns whether the thread has a part in its window. */
static bool has_part(const struct ideal_times *t, const struct thread_clock *c)
{
    return c->is_main && c->is_up && c->ordinal >= 0 &&
           (c->calls || mpi_spans_are_known(t->steps->spans, (uint32_t)(c - t->threads)));
}

/* Opens a window, or what counts of it: MPI_Init has returned. */
static void open_window(struct ideal_times *t, struct thread_clock *c, int32_t ordinal, int64_t ns)
{
    t->inside -= counts_in(t, c); /* its last window has no end */
    c->ordinal = ordinal;
    c->is_up = mpi_spans_has(t->steps->spans, (uint32_t)(c - t->threads), ns);
    bool counts = counts_in(t, c);
    if (counts && t->inside++ == 0)
        end_phase(t);
    bool goes_on = counts && c->phase == t->phase;
    c->phase = counts ? t->phase : 0;
    begin(c, ordinal, ns, goes_on ? c->logical + ns - c->since : ns);
}

/* Counts the time since the last call as the program's own. */
static void compute(struct thread_clock *c, int64_t ns)
{
    int64_t own = ns > c->since ? ns - c->since : 0;
    c->logical += own;
    c->useful += own;
    c->since = ns;
}

/* Adds the thread's part of its window to the sums of all windows. */
static int add_stay(struct ideal_times *t, struct thread_clock *c, int64_t ns)
{
    if (covered_time_add(&t->stays, c->opened, ns) != 0)
        return -ENOMEM;
    c->has_ended = true;
    c->all_useful += c->useful;
    t->first_logical = c->opened_logical < t->first_logical ? c->opened_logical : t->first_logical;
    t->last_logical = c->logical > t->last_logical ? c->logical : t->last_logical;
    return 0;
}

/* Adds the thread's part of its window. */
static int add_part(struct ideal_times *t, const struct thread_clock *c, int64_t ns)
{
    struct ideal_window *w = window_of(t, c->ordinal);
    if (w == NULL)
        return -ENOMEM;
    w->processes++;
    w->useful += c->useful;
    if (c->useful > w->most_useful) {
        w->most_useful = c->useful;
        w->most_useful_rank = c->rank;
    }
    w->first_open = c->opened < w->first_open ? c->opened : w->first_open;
    w->last_close = ns > w->last_close ? ns : w->last_close;
    w->first_logical = c->opened_logical < w->first_logical ? c->opened_logical : w->first_logical;
    w->last_logical = c->logical > w->last_logical ? c->logical : w->last_logical;
    w->ideal = w->last_logical - w->first_logical;
    w->has_gaps |= c->has_gaps;
    return 0;
}

static int close_window(struct ideal_times *t, struct thread_clock *c, int64_t ns)
{
    if (c->ordinal < 0)
        return 0;
    bool counts = counts_in(t, c), is_part = has_part(t, c) && c->opened < ns;
    int rc = 0;
    if (!c->is_inside)
        compute(c, ns);
    c->since = ns;
    if (is_part)
        rc = add_part(t, c, ns);
    if (rc == 0 && is_part && counts)
        rc = add_stay(t, c, ns);
    t->inside -= counts;
    c->ordinal = -1;
    return rc;
}

/* --- the replay ------------------------------------------------------------------------------- */

static void begin_call(struct ideal_times *t, struct thread_clock *c, struct step *x)
{
    c->is_inside = c->calls = true;
    compute(c, x->begin);
    x->logical = c->logical;
    if (x->meeting == STEPS_NONE)
        return;
    struct meeting_times *m = &t->meetings[x->meeting];
    m->latest = x->logical > m->latest ? x->logical : m->latest;
    m->of_root = x->is_root ? x->logical : m->of_root;
}

/* Returns when those come, by their logical clocks, that a rank in a meeting needs. */
static int64_t others_of(const struct ideal_times *t, uint32_t meeting, enum meeting_need need)
{
    const struct meeting_times *m = &t->meetings[meeting];
    return need == NEEDS_ALL ? m->latest : m->of_root;
}

/* Returns the logical time before which the call cannot end. INT64_MIN: it needs nothing. */
static int64_t needed(const struct ideal_times *t, const struct step *x)
{
    int64_t needs = INT64_MIN;
    for (uint32_t i = x->needs; i != STEPS_NONE; i = t->steps->needs[i].before) {
        const struct need *n = &t->steps->needs[i];
        int64_t logical = n->meeting == STEPS_NONE
                              ? t->threads[n->stream].steps[n->step].logical
                              : others_of(t, n->meeting, (enum meeting_need)n->of_meeting);
        bool better = n->first ? logical < needs : logical > needs;
        if (logical != INT64_MIN && (needs == INT64_MIN || better))
            needs = logical;
    }
    if (x->meeting == STEPS_NONE || x->need == NEEDS_NOTHING)
        return needs;
    int64_t others = others_of(t, x->meeting, (enum meeting_need)x->need);
    return others > needs ? others : needs;
}

static void end_call(struct ideal_times *t, struct thread_clock *c, const struct step *x)
{
    int64_t needs = needed(t, x);
    c->is_inside = false;
    if (x->kind == STEP_INITIALIZES && c->ordinal >= 0)
        open_window(t, c, c->ordinal, x->end);
    c->logical = needs > c->logical ? needs : c->logical;
    c->since = x->end;
}

/* Takes the next moment of a thread: a call begins or ends, or an edge. */
static int replay_next(struct ideal_times *t, struct thread_clock *c)
{
    struct step *x = &c->steps[c->at];
    bool is_call = x->kind <= STEP_INITIALIZES;
    if (is_call && x->logical == INT64_MIN) {
        begin_call(t, c, x);
        c->at += x->end == INT64_MAX;
        return 0;
    }
    c->at++;
    if (is_call) {
        end_call(t, c, x);
    } else if (x->kind == STEP_OPENS) {
        open_window(t, c, x->ordinal, x->begin);
    } else if (x->kind == STEP_DROPS) {
        c->is_inside = false;
        c->has_gaps = true;
        c->since = x->begin;
    } else {
        return close_window(t, c, x->begin);
    }
    return 0;
}

static bool is_earlier(const void *context, uint32_t a, uint32_t b)
{
    const struct ideal_times *t = context;
    const struct step *x = &t->threads[a].steps[t->threads[a].at],
                      *y = &t->threads[b].steps[t->threads[b].at];
    bool x_ends = x->logical != INT64_MIN, y_ends = y->logical != INT64_MIN;
    int64_t x_ns = x_ends ? x->end : x->begin, y_ns = y_ends ? y->end : y->begin;
    if (x_ns != y_ns)
        return x_ns < y_ns;
    return x_ends != y_ends ? y_ends : a < b; /* what begins is there for what ends */
}

/* Replays all steps in the order of time. */
static int replay(struct ideal_times *t, uint32_t *heap)
{
    uint32_t count = 0;
    int rc = 0;
    for (uint32_t i = 0; i < t->steps->meeting_count; i++)
        t->meetings[i] = (struct meeting_times){INT64_MIN, INT64_MIN};
    for (uint32_t i = 0; i < t->thread_count; i++)
        if (t->threads[i].count > 0)
            heap[count++] = i;
    for (uint32_t i = count / 2; i-- > 0;)
        heap_sift(heap, count, i, is_earlier, t);
    while (rc == 0 && count > 0) {
        struct thread_clock *c = &t->threads[heap[0]];
        rc = replay_next(t, c);
        if (c->at == c->count)
            heap[0] = heap[--count];
        heap_sift(heap, count, 0, is_earlier, t);
    }
    return rc;
}

/* Counts the windows that have no end. */
static int count_unfinished(struct ideal_times *t)
{
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct thread_clock *c = &t->threads[i];
        struct ideal_window *w = has_part(t, c) ? window_of(t, c->ordinal) : NULL;
        if (w != NULL)
            w->unfinished++;
        else if (has_part(t, c))
            return -ENOMEM;
    }
    return 0;
}

struct ideal_times *ideal_replay(const struct ideal_steps *steps, const struct streams *streams,
                                 const struct window_span *windows)
{
    struct ideal_times *t = calloc(1, sizeof *t);
    const struct thread_stream *all;
    if (t == NULL)
        return NULL;
    all = streams_all(streams, &t->thread_count);
    t->steps = steps;
    t->span = windows;
    t->first_logical = INT64_MAX;
    t->last_logical = INT64_MIN;
    t->threads = calloc(t->thread_count + 1u, sizeof *t->threads);
    t->meetings = calloc(steps->meeting_count + 1u, sizeof *t->meetings);
    uint32_t *heap = calloc(t->thread_count + 1u, sizeof *heap);
    int rc =
        t->threads == NULL || t->meetings == NULL || heap == NULL || steps->no_memory ? -ENOMEM : 0;
    for (uint32_t i = 0; rc == 0 && i < t->thread_count; i++)
        t->threads[i] = (struct thread_clock){.steps = steps->threads[i].steps,
                                              .count = steps->threads[i].count,
                                              .is_main = all[i].number == 0 &&
                                                         rt_rank_info(all[i].rank)->is_main,
                                              .rank = rt_rank_info(all[i].rank)->rank,
                                              .ordinal = -1};
    rc = rc == 0 ? replay(t, heap) : rc;
    rc = rc == 0 ? count_unfinished(t) : rc;
    free(heap);
    if (rc == 0)
        return t;
    ideal_close(t);
    return NULL;
}

const struct ideal_window *ideal_windows(struct ideal_times *t, size_t *count,
                                         struct ideal_run *all)
{
    end_phase(t);
    *all = (struct ideal_run){
        .length = covered_time_sum(&t->stays), .ideal = t->ideal, .most_useful_rank = -1};
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct thread_clock *c = &t->threads[i];
        all->processes += c->has_ended;
        all->useful += c->all_useful;
        if (c->all_useful > all->most_useful) {
            all->most_useful = c->all_useful;
            all->most_useful_rank = c->rank;
        }
    }
    *count = t->window_count;
    return t->windows;
}

void ideal_close(struct ideal_times *t)
{
    if (t == NULL)
        return;
    free(t->threads);
    free(t->meetings);
    free(t->windows);
    covered_time_free(&t->stays);
    free(t);
}
