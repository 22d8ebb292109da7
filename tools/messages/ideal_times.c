/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the calls of all threads, replays them with logical clocks, and adds up each window. */
#include "tools/messages/ideal_times.h"

#include "base/format/event_fields.h"
#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/messages/covered_time.h"
#include "tools/messages/mpi_spans.h"
#include "tools/streams/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

enum step_kind { STEP_CALL, STEP_INITIALIZES, STEP_OPENS, STEP_DROPS, STEP_CLOSES };

/* What a thread has done: an outermost call, or an edge of what is known of it. */
struct step {
    int64_t begin, end; /* of an edge the same; end INT64_MAX: the recording does not have it */
    int64_t logical;    /* of the begin, once the replay is there; INT64_MIN before */
    uint32_t needs;     /* the last of its needs; NONE: it has none */
    uint32_t meeting;   /* NONE: it is in none */
    int32_t ordinal;    /* of the window that opens */
    uint8_t kind, need; /* enum step_kind, enum meeting_need */
    bool is_root;
};

/* What a call depends on: a step of another thread, or the calls of a meeting. */
struct need {
    uint32_t before; /* of the same call; NONE */
    uint32_t stream; /* whose step must have begun */
    size_t step;
    uint32_t meeting;   /* NONE: it is no meeting */
    uint8_t of_meeting; /* enum meeting_need */
    bool first;
};

/* When the ranks of a meeting come, by their logical clocks. */
struct meeting_times {
    int64_t latest, of_root; /* INT64_MIN: nobody yet */
};

struct thread_clock {
    /* What is kept. */
    struct step *steps;
    size_t count, room;
    uint32_t depth;
    bool is_main;
    /* The replay. */
    size_t at;
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
    struct need *needs;
    size_t need_count, need_room;
    uint32_t meeting_count;
    bool no_memory;
    struct meeting_times *meetings; /* by number */
    struct ideal_window *windows;   /* by ordinal */
    size_t window_count, window_room;
    const struct window_span *span;
    struct mpi_spans *spans;
    struct covered_time stays; /* of main threads, in windows of the span */
    uint32_t inside;           /* main threads that are in such a window now */
    /* The phase: time in which there are some. */
    uint64_t phase;
    int64_t first_logical, last_logical; /* of it; first > last: none has ended */
    int64_t ideal;                       /* of all phases before */
};

struct ideal_times *ideal_open(const struct streams *streams, const struct window_span *windows)
{
    struct ideal_times *t = calloc(1, sizeof *t);
    uint32_t count;
    const struct thread_stream *all = streams_all(streams, &count);
    if (t == NULL || (t->threads = calloc(count + 1u, sizeof *t->threads)) == NULL ||
        (t->spans = mpi_spans_open(streams)) == NULL) {
        ideal_close(t);
        return NULL;
    }
    t->thread_count = count;
    t->span = windows;
    t->first_logical = INT64_MAX;
    t->last_logical = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        t->threads[i].is_main = all[i].number == 0 && rt_rank_info(all[i].rank)->is_main;
        t->threads[i].ordinal = -1;
    }
    return t;
}

/* --- what is kept ----------------------------------------------------------------------------- */

static int add_step(struct thread_clock *c, enum step_kind kind, int64_t ns, int32_t ordinal)
{
    void *steps = array_grown(c->steps, c->count, &c->room, sizeof *c->steps);
    bool is_call = kind <= STEP_INITIALIZES;
    if (steps == NULL)
        return -ENOMEM;
    c->steps = steps;
    c->steps[c->count++] = (struct step){.begin = ns,
                                         .end = is_call ? INT64_MAX : ns,
                                         .logical = INT64_MIN,
                                         .needs = NONE,
                                         .meeting = NONE,
                                         .ordinal = ordinal,
                                         .kind = (uint8_t)kind};
    return 0;
}

static int add_edge(struct thread_clock *c, enum step_kind kind, int64_t ns, int32_t ordinal)
{
    c->depth = 0;
    return add_step(c, kind, ns, ordinal);
}

/* MPI_Init and MPI_Finalize are no part of the run: its processes start and end there. */
static int enter(struct thread_clock *c, const struct stream_record *r)
{
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    if (c->depth++ != 0)
        return 0;
    if (strcmp(event_mpi_name(function), "MPI_Finalize") == 0)
        return add_step(c, STEP_CLOSES, r->ns, -1);
    return add_step(c, event_mpi_initializes(function) ? STEP_INITIALIZES : STEP_CALL, r->ns, -1);
}

static void leave(struct thread_clock *c, const struct stream_record *r)
{
    if (c->depth == 0 || --c->depth != 0)
        return;
    struct step *x = &c->steps[c->count - 1];
    if (x->kind <= STEP_INITIALIZES)
        x->end = r->ns;
}

/* Takes an MPI_Init or MPI_Finalize that is not among the thread's calls. */
static int change(struct thread_clock *c, enum mpi_change_kind kind, int64_t ns)
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

int ideal_take(struct ideal_times *t, const struct stream_record *r)
{
    struct thread_clock *c = &t->threads[r->stream];
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
static size_t find_call(const struct thread_clock *c, int64_t ns)
{
    size_t n;
    SEARCH_FIRST(n, c->count, c->steps[n].begin <= ns);
    return n > 0 && c->steps[n - 1].kind <= STEP_INITIALIZES && c->steps[n - 1].end >= ns
               ? n - 1
               : SIZE_MAX;
}

static void add_need(struct ideal_times *t, struct step *call, struct need need)
{
    void *needs = array_grown(t->needs, t->need_count, &t->need_room, sizeof *t->needs);
    if (needs == NULL || t->need_count >= NONE) {
        t->no_memory = true;
        return;
    }
    t->needs = needs;
    need.before = call->needs;
    t->needs[t->need_count] = need;
    call->needs = (uint32_t)t->need_count++;
}

void ideal_needs(struct ideal_times *t, uint32_t stream, int64_t ns, uint32_t other,
                 int64_t other_ns, bool first)
{
    struct thread_clock *c = &t->threads[stream];
    size_t call = find_call(c, ns), step = find_call(&t->threads[other], other_ns);
    if (call != SIZE_MAX && step != SIZE_MAX)
        add_need(t, &c->steps[call],
                 (struct need){.stream = other, .step = step, .meeting = NONE, .first = first});
}

/* Returns the thread's call that has not ended; NULL: it is in none. */
static struct step *open_call(struct ideal_times *t, uint32_t stream)
{
    struct thread_clock *c = &t->threads[stream];
    struct step *x = c->count > 0 ? &c->steps[c->count - 1] : NULL;
    return x != NULL && x->kind == STEP_CALL && x->end == INT64_MAX ? x : NULL;
}

void ideal_awaits(struct ideal_times *t, uint32_t stream, const struct meeting_part *part,
                  bool first)
{
    struct step *x = open_call(t, stream);
    if (x != NULL && part->need != NEEDS_NOTHING)
        add_need(t, x,
                 (struct need){
                     .meeting = part->meeting, .of_meeting = (uint8_t)part->need, .first = first});
}

void ideal_meets(struct ideal_times *t, uint32_t stream, const struct meeting_part *part)
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

void ideal_fails(struct ideal_times *t, uint32_t stream)
{
    struct thread_clock *c = &t->threads[stream];
    if (c->count > 0 && c->steps[c->count - 1].end == INT64_MAX)
        c->steps[c->count - 1].meeting = NONE;
}

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
           (c->calls || mpi_spans_are_known(t->spans, (uint32_t)(c - t->threads)));
}

/* Opens a window, or what counts of it: MPI_Init has returned. */
static void open_window(struct ideal_times *t, struct thread_clock *c, int32_t ordinal, int64_t ns)
{
    t->inside -= counts_in(t, c); /* its last window has no end */
    c->ordinal = ordinal;
    c->is_up = mpi_spans_has(t->spans, (uint32_t)(c - t->threads), ns);
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
    w->most_useful = c->useful > w->most_useful ? c->useful : w->most_useful;
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
    if (x->meeting == NONE)
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
    for (uint32_t i = x->needs; i != NONE; i = t->needs[i].before) {
        const struct need *n = &t->needs[i];
        int64_t logical = n->meeting == NONE
                              ? t->threads[n->stream].steps[n->step].logical
                              : others_of(t, n->meeting, (enum meeting_need)n->of_meeting);
        bool better = n->first ? logical < needs : logical > needs;
        if (logical != INT64_MIN && (needs == INT64_MIN || better))
            needs = logical;
    }
    if (x->meeting == NONE || x->need == NEEDS_NOTHING)
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
    for (uint32_t i = 0; i < t->meeting_count; i++)
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

int ideal_end(struct ideal_times *t)
{
    uint32_t *heap = calloc(t->thread_count + 1u, sizeof *heap);
    t->meetings = calloc(t->meeting_count + 1u, sizeof *t->meetings);
    bool has_room = heap != NULL && t->meetings != NULL && !t->no_memory;
    int rc = has_room ? replay(t, heap) : -ENOMEM;
    free(heap);
    for (uint32_t i = 0; rc == 0 && i < t->thread_count; i++) {
        const struct thread_clock *c = &t->threads[i];
        struct ideal_window *w = has_part(t, c) ? window_of(t, c->ordinal) : NULL;
        if (w != NULL)
            w->unfinished++;
        else if (has_part(t, c))
            rc = -ENOMEM;
    }
    return rc;
}

const struct ideal_window *ideal_windows(struct ideal_times *t, size_t *count,
                                         struct ideal_run *all)
{
    end_phase(t);
    *all = (struct ideal_run){.length = covered_time_sum(&t->stays), .ideal = t->ideal};
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct thread_clock *c = &t->threads[i];
        all->processes += c->has_ended;
        all->useful += c->all_useful;
        all->most_useful = c->all_useful > all->most_useful ? c->all_useful : all->most_useful;
    }
    *count = t->window_count;
    return t->windows;
}

void ideal_close(struct ideal_times *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; i < t->thread_count; i++)
        free(t->threads[i].steps);
    free(t->threads);
    mpi_spans_close(t->spans);
    free(t->needs);
    free(t->meetings);
    free(t->windows);
    covered_time_free(&t->stays);
    free(t);
}
