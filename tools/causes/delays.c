/* SPDX-License-Identifier: BSD-3-Clause
 * Takes the waits of all threads from the last one backward: what a wait has caused is known before
 * its own cause is looked for. */
#include "tools/causes/delays.h"

#include "base/toolkit/array.h"
#include "tools/streams/heap.h"

#include <errno.h>
#include <stdlib.h>

/* No interval has more calls of one thread, so that threads which never wait for each other are not
 * read over and over. */
enum { CALLS_MOST = 1000 };

/* Time of an activity in an interval: of the late thread, without that of the waiting one. */
struct excess {
    uint32_t turn; /* the interval that `ns` is of */
    int64_t ns;
};

struct search {
    struct delays *delays;
    struct history *history;
    const struct window_span *windows;
    size_t *next;          /* by stream: its calls before this are left */
    struct excess *excess; /* by activity */
    uint32_t turn;
    uint32_t *touched; /* activities with time in the interval */
    size_t touched_count, touched_room;
    int64_t waited; /* excess of waiting time */
    int sign;       /* 1: time of the late thread is added, -1: of the waiting one */
};

/* A thread's part of an interval, up to its call `last`. */
struct span {
    const struct past_thread *thread;
    uint32_t stream;
    size_t last;
    int64_t until; /* the end, not after the begin of `last` */
};

/* --- where an interval begins ----------------------------------------------------------------- */

/* Returns when the call's wait brought the thread to the same time as another one, INT64_MIN if it
 * did not. */
static int64_t meets(const struct past_call *c, const struct past_wait *w)
{
    return w != NULL && w->for_ns <= c->end ? w->for_ns : INT64_MIN;
}

/* Returns this time, or that of the waiting thread's last edge before its call `at` if it is later:
 * what the thread did before is not known. */
static int64_t since_edge(const struct span *waiting, size_t at, int64_t ns)
{
    for (; waiting->thread->calls[at - 1].end > ns; at--)
        if (past_is_edge(&waiting->thread->calls[at - 1]))
            return waiting->thread->calls[at - 1].end;
    return ns;
}

/* Returns the last time before both spans end at which both threads were known to be at the same
 * time, or that of the waiting thread's last edge. Edges of the late thread do not matter: what it
 * does outside windows is an activity. */
static int64_t common_time(const struct span *late, const struct span *waiting)
{
    const struct span *spans[] = {late, waiting};
    size_t at[] = {late->last, waiting->last};
    const struct past_wait *seen[] = {NULL, NULL};
    for (unsigned steps = 0;; steps++) {
        const struct past_call *first = at[0] > 0 ? &late->thread->calls[at[0] - 1] : NULL,
                               *second = &waiting->thread->calls[at[1] - 1];
        unsigned side = first != NULL && first->end >= second->end ? 0 : 1, other = 1 - side;
        const struct past_call *c = side == 0 ? first : second;
        const struct past_wait *w = past_wait_of(spans[side]->thread, c);
        if ((side == 1 && past_is_edge(c)) || steps == CALLS_MOST)
            return c->end;
        if (meets(c, w) != INT64_MIN) {
            bool for_other = w->for_stream == spans[other]->stream;
            bool as_other = seen[other] != NULL && seen[other]->for_ns == w->for_ns &&
                            seen[other]->for_stream == w->for_stream;
            if (for_other || as_other)
                return since_edge(waiting, at[1], w->for_ns);
            seen[side] = w;
        }
        at[side]--;
    }
}

/* --- what a thread did in an interval --------------------------------------------------------- */

/* Adds time to what exceeds in an activity. */
static int add(void *context, uint32_t activity, int64_t ns)
{
    struct search *s = context;
    struct excess *x = &s->excess[activity];
    if (x->turn != s->turn) {
        void *touched =
            array_grown(s->touched, s->touched_count, &s->touched_room, sizeof *s->touched);
        if (touched == NULL)
            return -ENOMEM;
        s->touched = touched;
        s->touched[s->touched_count++] = activity;
        *x = (struct excess){.turn = s->turn};
    }
    x->ns += s->sign * ns;
    return 0;
}

/* Adds the thread's times in the span, from a time on, with the sign of the search. */
static int add_span(struct search *s, const struct span *x, int64_t from)
{
    const struct past_thread *t = x->thread;
    int rc = 0;
    for (size_t i = x->last; rc == 0; i--) {
        rc = history_between(t, i, from, x->until, add, s);
        if (rc != 0 || i == 0 || t->calls[i - 1].end <= from)
            break;
        const struct past_call *before = &t->calls[i - 1];
        int64_t works = past_waits_until(t, before);
        s->waited += s->sign * past_overlap(before->begin, works, from, x->until);
        if (!past_is_edge(before))
            rc = add(s, before->place, past_overlap(works, before->end, from, x->until));
    }
    return rc;
}

/* --- costs ------------------------------------------------------------------------------------ */

/* Keeps the wait of which an activity caused most. */
static void note_wait(struct past_moment *longest, const struct span *waiting, double cost)
{
    const struct past_thread *t = waiting->thread;
    const struct past_call *c = &t->calls[waiting->last];
    if (cost > longest->ns)
        *longest = (struct past_moment){cost, c->begin, past_waits_until(t, c), t->rank, c->window};
}

/* Charges an activity of the late thread with its part of a wait. */
static int charge(struct search *s, const struct span *waiting, const struct span *late,
                  uint32_t activity, double direct, double carried)
{
    struct delays *d = s->delays;
    int32_t rank = late->thread->rank;
    uint32_t count = d->keys.count, n = key_table_add(&d->keys, (uint32_t)rank, activity);
    void *rows = array_grown(d->rows, count, &d->room, sizeof *d->rows);
    if (n == KEY_NONE || rows == NULL)
        return -ENOMEM;
    d->rows = rows;
    if (n == count)
        d->rows[n] = (struct delay){.rank = rank, .activity = activity};
    d->rows[n].waits++;
    d->rows[n].direct_ns += direct;
    d->rows[n].carried_ns += carried;
    note_wait(&d->rows[n].longest, waiting, direct + carried);
    return 0;
}

/* Notes that a wait has this cost before the late thread's window opened. */
static void note_unrecorded(struct delays *d, const struct span *late, double cost)
{
    d->unrecorded.ns += cost;
    if (cost <= d->unrecorded.worst_ns)
        return;
    d->unrecorded.worst_ns = cost;
    d->unrecorded.rank = late->thread->rank;
    d->unrecorded.window = late->thread->calls[late->last].window;
}

/* Charges the late thread's activities in proportion to what exceeds in them; all: the sum. */
static int charge_activities(struct search *s, const struct span *waiting, const struct span *late,
                             double all, double direct, double carried)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->touched_count; i++) {
        double ns = (double)s->excess[s->touched[i]].ns;
        if (ns <= 0)
            continue;
        rc = charge(s, waiting, late, s->touched[i], direct * ns / all, carried * ns / all);
        if (s->touched[i] == EDGE_OPENS)
            note_unrecorded(s->delays, late, (direct + carried) * ns / all);
    }
    return rc;
}

/* Carries a cost over to the waits that the late thread had in the interval; all: their time. */
static void carry(struct search *s, const struct span *late, int64_t from, double all, double cost)
{
    const struct past_thread *t = late->thread;
    for (size_t i = late->last; i > 0 && t->calls[i - 1].end > from; i--) {
        const struct past_call *c = &t->calls[i - 1];
        if (c->wait == 0)
            continue;
        struct past_wait *w = &t->waits[c->wait - 1];
        double part =
            (double)past_overlap(c->begin, past_waits_until(t, c), from, late->until) / all;
        if (i - 1 <= s->next[late->stream])
            w->carried_ns += cost * part;
        else /* it has been taken: the late thread still waits as the other one goes on */
            s->delays->unknown_ns += cost * part;
    }
}

/* Ascribes a wait of one thread to what the late thread did. */
static int ascribe(struct search *s, const struct span *waiting, const struct span *late,
                   double direct, double carried)
{
    double all = 0;
    s->turn++;
    s->touched_count = 0;
    s->waited = 0;
    int64_t from = common_time(late, waiting);
    s->sign = 1;
    if (add_span(s, late, from) != 0)
        return -ENOMEM;
    double waited = (double)s->waited;
    s->sign = -1;
    if (add_span(s, waiting, from) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < s->touched_count; i++)
        all += s->excess[s->touched[i]].ns > 0 ? (double)s->excess[s->touched[i]].ns : 0;
    all += s->waited > 0 ? (double)s->waited : 0;
    if (all == 0) /* clocks are off */
        return charge(s, waiting, late, late->thread->calls[late->last].place, direct, carried);
    if (s->waited > 0)
        carry(s, late, from, waited, (direct + carried) * (double)s->waited / all);
    return charge_activities(s, waiting, late, all, direct, carried);
}

/* Takes the last wait of this thread that is left. */
static int take_wait(struct search *s, uint32_t stream)
{
    const struct past_thread *t = history_thread(s->history, stream);
    size_t i = s->next[stream];
    const struct past_call *c = &t->calls[i];
    const struct past_wait *w = &t->waits[c->wait - 1];
    double direct = window_span_has(s->windows, w->window) ? (double)w->ns : 0;
    const struct past_thread *other = history_thread(s->history, w->for_stream);
    size_t late_call = history_find(other, w->for_ns);
    if (direct + w->carried_ns <= 0)
        return 0;
    if (late_call == SIZE_MAX || other == t) {
        s->delays->unknown_ns += direct + w->carried_ns;
        return 0;
    }
    const struct span waiting = {t, stream, i, c->begin},
                      late = {other, w->for_stream, late_call, past_waits_until(t, c)};
    return ascribe(s, &waiting, &late, direct, w->carried_ns);
}

/* --- all waits -------------------------------------------------------------------------------- */

/* Steps to the thread's last wait that is left. Returns false if there is none. */
static bool step(struct search *s, uint32_t stream)
{
    const struct past_thread *t = history_thread(s->history, stream);
    size_t *next = &s->next[stream];
    while (*next > 0)
        if (t->calls[--*next].wait != 0)
            return true;
    return false;
}

static int64_t time_of(const struct search *s, uint32_t stream)
{
    const struct past_thread *t = history_thread(s->history, stream);
    const struct past_call *c = &t->calls[s->next[stream]];
    return past_waits_until(t, c);
}

static bool is_later(const void *context, uint32_t a, uint32_t b)
{
    int64_t x = time_of(context, a), y = time_of(context, b);
    return x != y ? x > y : a < b;
}

static int take_all(struct search *s, uint32_t *heap)
{
    uint32_t count = 0;
    int rc = 0;
    for (uint32_t i = 0; i < history_threads(s->history); i++) {
        s->next[i] = history_thread(s->history, i)->count;
        if (step(s, i))
            heap[count++] = i;
    }
    for (uint32_t i = count / 2; i-- > 0;)
        heap_sift(heap, count, i, is_later, s);
    while (rc == 0 && count > 0) {
        rc = take_wait(s, heap[0]);
        if (!step(s, heap[0]))
            heap[0] = heap[--count];
        heap_sift(heap, count, 0, is_later, s);
    }
    return rc;
}

int delays_find(struct delays *d, struct history *h, const struct window_span *windows)
{
    struct search s = {.delays = d, .history = h, .windows = windows};
    uint32_t threads = history_threads(h);
    uint32_t *heap = calloc(threads + 1u, sizeof *heap);
    s.next = calloc(threads + 1u, sizeof *s.next);
    s.excess = calloc(activities_count(history_activities(h)) + 1u, sizeof *s.excess);
    int rc = heap != NULL && s.next != NULL && s.excess != NULL ? take_all(&s, heap) : -ENOMEM;
    free(heap);
    free(s.next);
    free(s.excess);
    free(s.touched);
    return rc;
}

void delays_free(struct delays *d)
{
    key_table_free(&d->keys);
    free(d->rows);
    *d = (struct delays){0};
}
