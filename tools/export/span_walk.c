/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the open spans of each thread while its events come, and reports those in the selection to
 * the format. */
#include "tools/export/span_walk.h"

#include "tools/export/export.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct span_thread {
    struct export_span *stack; /* open spans, outermost first */
    uint32_t depth;
    size_t room;
    bool in_window; /* its last event was in a window of the selection */
    int64_t last_ns;
    uint64_t left; /* events still to come */
};

/* BLOCK: events that one of several processes writes before the next process's turn. */
enum { BLOCK = 2048 };

struct span_walk {
    struct export *x;
    const struct export_format *format; /* the format that gets the reports now */
    const struct export_format *real;
    struct export_format deaf; /* ignores reports while another process writes */
    uint64_t taken;            /* events of this block */
    void *state;
    struct span_thread *threads;
    bool in_time;
};

static bool is_shown(const struct span_walk *w, const struct span_thread *t)
{
    return w->in_time && t->in_window;
}

static void enter(struct span_walk *w, uint32_t s, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    if (is_shown(w, &w->threads[s]) && w->format->enter != NULL)
        w->format->enter(w->state, s, ns, span, r);
}

static void leave(struct span_walk *w, uint32_t s, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    if (is_shown(w, &w->threads[s]) && w->format->leave != NULL)
        w->format->leave(w->state, s, ns, span, r);
}

static void push(struct span_walk *w, uint32_t s, int64_t ns, const struct export_span *span,
                 const struct stream_record *r)
{
    struct span_thread *t = &w->threads[s];
    struct export_span *more = array_grown(t->stack, t->depth, &t->room, sizeof *more);
    if (more == NULL) {
        export_fail(w->x, -ENOMEM, "no memory");
        return;
    }
    t->stack = more;
    t->stack[t->depth++] = *span;
    enter(w, s, ns, span, r);
}

/* Ends all spans from this depth on. */
static void end_above(struct span_walk *w, uint32_t s, int64_t ns, uint32_t depth)
{
    struct span_thread *t = &w->threads[s];
    while (t->depth > depth) {
        t->depth--;
        leave(w, s, ns, &t->stack[t->depth], NULL);
    }
}

/* Like end_above(), where recorded ends are missing: counts the spans as unfinished. Does not count
 * marks, since outside windows no pop is recorded. */
static void end_unfinished(struct span_walk *w, uint32_t s, int64_t ns, uint32_t depth)
{
    const struct span_thread *t = &w->threads[s];
    for (uint32_t i = depth; i < t->depth && is_shown(w, t); i++)
        w->x->tally.unfinished += t->stack[i].kind != EXPORT_MARK;
    end_above(w, s, ns, depth);
}

/* --- ends ------------------------------------------------------------------------------------- */

static bool is_same(const struct export_span *a, const struct export_span *b)
{
    return a->kind == b->kind && a->name == b->name && a->type == b->type;
}

/* Returns whether two spans must nest. */
static bool nest(const struct span_walk *w, const struct export_span *a,
                 const struct export_span *b)
{
    return w->format->one_stack || (a->kind == b->kind && a->type == b->type);
}

static bool is_call(const struct export_span *a)
{
    return a->kind == EXPORT_MPI || a->kind == EXPORT_FUNCTION || a->kind == EXPORT_SIGNAL;
}

/* Ends the calls within a call that ends here: they are over, though no end was recorded. */
static void drop_calls(struct span_walk *w, uint32_t s, int64_t ns, uint32_t at)
{
    struct span_thread *t = &w->threads[s];
    for (uint32_t i = t->depth; i-- > at + 1;) {
        if (!is_call(&t->stack[i]))
            continue;
        struct export_span gone = t->stack[i];
        for (uint32_t k = t->depth; k-- > i + 1;)
            if (nest(w, &t->stack[k], &gone))
                leave(w, s, ns, &t->stack[k], NULL);
        leave(w, s, ns, &gone, NULL);
        memmove(&t->stack[i], &t->stack[i + 1], (t->depth - i - 1) * sizeof gone);
        t->depth--;
        for (uint32_t k = i; k < t->depth; k++)
            if (nest(w, &t->stack[k], &gone))
                enter(w, s, ns, &t->stack[k], NULL);
        w->x->tally.unfinished += is_shown(w, t);
    }
}

/* Ends the span at this depth. Spans above it that must nest with it end too and begin again. */
static void end_at(struct span_walk *w, uint32_t s, int64_t ns, uint32_t at,
                   const struct stream_record *r)
{
    struct span_thread *t = &w->threads[s];
    struct export_span ended = t->stack[at];
    for (uint32_t k = t->depth; k-- > at + 1;)
        if (nest(w, &t->stack[k], &ended)) {
            leave(w, s, ns, &t->stack[k], NULL);
            w->x->tally.crossing += is_shown(w, t);
        }
    leave(w, s, ns, &ended, r);
    memmove(&t->stack[at], &t->stack[at + 1], (t->depth - at - 1) * sizeof ended);
    t->depth--;
    for (uint32_t k = at; k < t->depth; k++)
        if (nest(w, &t->stack[k], &ended))
            enter(w, s, ns, &t->stack[k], NULL);
}

static void pop(struct span_walk *w, uint32_t s, int64_t ns, const struct export_span *span,
                const struct stream_record *r)
{
    const struct span_thread *t = &w->threads[s];
    bool cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    uint32_t at = t->depth;
    while (at > 0 && !is_same(&t->stack[at - 1], span))
        at--;
    if (at == 0) {
        /* An earlier cut end may have ended this span already, so a missing beginning does not
         * count. */
        w->x->tally.unbegun += !cut && is_shown(w, t);
        return;
    }
    at--;
    /* A cut end ends everything above its span. */
    if (cut)
        end_above(w, s, ns, at + 1);
    else if (is_call(span))
        drop_calls(w, s, ns, at);
    end_at(w, s, ns, at, r);
}

static void open_window(struct span_walk *w, uint32_t s, int64_t ns, const struct export_span *span,
                        const struct stream_record *r)
{
    end_unfinished(w, s, ns, 0);
    push(w, s, ns, span, r);
}

static void close_window(struct span_walk *w, uint32_t s, int64_t ns,
                         const struct export_span *span, const struct stream_record *r)
{
    const struct span_thread *t = &w->threads[s];
    if (t->depth > 0 && is_same(&t->stack[0], span)) {
        end_unfinished(w, s, ns, 1);
        end_at(w, s, ns, 0, r);
        return;
    }
    end_unfinished(w, s, ns, 0);
    w->x->tally.unbegun += is_shown(w, t);
}

/* Events were dropped: nobody knows whether the spans that were open before have ended since, so
 * ends them where the loss begins. The window stays open. */
static void lose(struct span_walk *w, uint32_t s, const struct stream_record *r)
{
    struct span_thread *t = &w->threads[s];
    uint64_t lost = r->event.b <= r->event.clock ? r->event.clock - r->event.b : 0;
    int64_t ns = rt_rank_ns(w->x->all[s].rank, lost) - w->x->origin;
    ns = ns < t->last_ns ? t->last_ns : ns;
    end_unfinished(w, s, ns, t->depth > 0 && t->stack[0].kind == EXPORT_WINDOW ? 1 : 0);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Reports the message ends up to `ns`. If `receives`, reports only receives of those at exactly
 * `ns`. */
static void tell_messages(struct span_walk *w, uint32_t s, int64_t ns, bool receives)
{
    const struct export_message *m;
    bool received;
    while ((m = export_messages_next(&w->x->messages, s, ns, &received)) != NULL) {
        int64_t at = received ? m->received_ns : m->send_ns;
        if (receives && !received && at == ns)
            return;
        export_messages_told(&w->x->messages, s);
        w->format->message(w->state, s, at < w->threads[s].last_ns ? w->threads[s].last_ns : at, m,
                           received);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static void take(struct span_walk *w, const struct stream_record *r, int64_t ns)
{
    struct export_span span;
    uint32_t s = r->stream;
    enum span_edge edge = export_span_of(w->x, r, &span);
    if (r->event.code == EV_DROPPED)
        lose(w, s, r);
    if (edge != SPAN_BEGINS)
        tell_messages(w, s, ns, true);
    if (is_shown(w, &w->threads[s])) {
        w->x->tally.events++;
        w->x->last_ns = ns > w->x->last_ns ? ns : w->x->last_ns;
        if (w->format->event != NULL)
            w->format->event(w->state, s, ns, r);
    }
    if (edge == SPAN_NONE) {
        if (is_shown(w, &w->threads[s]) && w->format->point != NULL)
            w->format->point(w->state, s, ns, r);
    } else if (span.kind == EXPORT_WINDOW) {
        (edge == SPAN_BEGINS ? open_window : close_window)(w, s, ns, &span, r);
    } else {
        (edge == SPAN_BEGINS ? push : pop)(w, s, ns, &span, r);
        if (edge == SPAN_BEGINS && span.kind == EXPORT_MPI)
            tell_messages(w, s, ns, false);
    }
}

/* Begins or ends the open spans of a thread that enters or leaves the selection. */
static void show(struct span_walk *w, uint32_t s, int64_t ns, bool begins)
{
    const struct span_thread *t = &w->threads[s];
    for (uint32_t i = 0; begins && i < t->depth; i++)
        enter(w, s, ns, &t->stack[i], NULL);
    for (uint32_t i = t->depth; !begins && i-- > 0;)
        leave(w, s, ns, &t->stack[i], NULL);
    if (t->depth > 0 && ns > w->x->last_ns && is_shown(w, t))
        w->x->last_ns = ns;
}

static void step(struct span_walk *w, const struct stream_record *r)
{
    struct span_thread *t = &w->threads[r->stream];
    int64_t ns = r->ns - w->x->origin;
    bool wanted = window_span_has(&w->x->options->windows, r->event.window);
    if (ns < t->last_ns)
        ns = t->last_ns;
    if (t->in_window && !wanted)
        show(w, r->stream, t->last_ns, false);
    if (!t->in_window && wanted) {
        t->in_window = true;
        if (w->in_time)
            show(w, r->stream, ns, true);
    }
    t->in_window = wanted;
    take(w, r, ns);
    t->last_ns = ns;
    if (--t->left != 0)
        return;
    end_unfinished(w, r->stream, ns, 0);
    if (w->format->ended != NULL)
        w->format->ended(w->state, r->stream);
}

/* Enters the selection's range of time, at the first event that is not before its start. Spans that
 * are already open begin at `from`. */
static void begin_time(struct span_walk *w)
{
    w->in_time = true;
    for (uint32_t i = 0; i < w->x->count; i++) {
        if (w->threads[i].last_ns < w->x->options->from_ns)
            w->threads[i].last_ns = w->x->options->from_ns;
        if (w->threads[i].in_window)
            show(w, i, w->x->options->from_ns, true);
    }
}

static void end_time(struct span_walk *w)
{
    for (uint32_t i = 0; w->in_time && i < w->x->count; i++)
        if (w->threads[i].in_window)
            show(w, i, w->x->options->to_ns, false);
}

/* --- several processes ------------------------------------------------------------------------ */

static void no_message(void *state, uint32_t stream, int64_t ns, const struct export_message *m,
                       bool received)
{
    (void)state, (void)stream, (void)ns, (void)m, (void)received;
}

static uint64_t written(struct export *x)
{
    off_t at = ftello(x->text);
    if (at < 0)
        export_fail(x, -errno, "%s cannot be written: %s", share_path(x->share), strerror(errno));
    return (uint64_t)at;
}

static void take_turns(struct span_walk *w)
{
    struct export *x = w->x;
    if (x->share == NULL)
        return;
    if (++w->taken > BLOCK) {
        share_next(x->share, written(x));
        w->taken = 1;
    }
    w->format = share_is_own(x->share) ? w->real : &w->deaf;
}

static void walk_events(struct span_walk *w)
{
    struct export *x = w->x;
    struct stream_record r;
    bool got = true;
    uint64_t done = 0, total = streams_events(x->streams);
    struct progress p;
    progress_begin(&p, "exporting events");
    while (x->rc == 0) {
        int rc = streams_next(x->streams, &r, &got, &x->e);
        if (rc != 0)
            x->rc = rc;
        if (rc != 0 || !got)
            break;
        int64_t ns = r.ns - x->origin;
        take_turns(w);
        if (!w->in_time && ns >= x->options->from_ns && ns <= x->options->to_ns)
            begin_time(w);
        if (ns > x->options->to_ns) {
            if (!w->in_time)
                begin_time(w);
            end_time(w);
            break;
        }
        step(w, &r);
        if (++done % 8192 == 0)
            progress_update(&p, done, total);
    }
    progress_end(&p);
}

void export_walk(struct export *x, const struct export_format *format, void *state)
{
    struct span_walk w = {.x = x, .format = format, .real = format, .state = state};
    w.deaf = (struct export_format){.one_stack = format->one_stack, .message = no_message};
    w.threads = calloc(x->count + 1u, sizeof *w.threads);
    if (w.threads == NULL) {
        export_fail(x, -ENOMEM, "no memory");
        return;
    }
    for (uint32_t i = 0; i < x->count; i++)
        w.threads[i].left = x->all[i].rows;
    walk_events(&w);
    if (x->share != NULL)
        share_end(x->share, written(x));
    for (uint32_t i = 0; i < x->count; i++)
        free(w.threads[i].stack);
    free(w.threads);
}
