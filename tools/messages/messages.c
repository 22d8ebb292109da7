/* SPDX-License-Identifier: BSD-3-Clause
 * Derives sends and receives from events: open calls, requests, messages of matched probes. */
#include "tools/messages/messages.h"

#include "base/format/event_fields.h"
#include "tools/messages/message_ends.h"
#include "tools/messages/message_functions.h"
#include "tools/messages/recorded_until.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

const char *unmatched_text(enum unmatched_reason why)
{
    static const char *const texts[UNMATCHED_REASONS] = {
        [UNMATCHED_OUTSIDE] = "made by a process that had been outside windows or lost something",
        [UNMATCHED_ALONE] = "the partner is not in the recording",
        [UNMATCHED_UNIDENTIFIED] = "the communicator or the request is not known",
        [UNMATCHED_CONCURRENT] = "threads did the same at once",
        [UNMATCHED_UNLIKE] = "sizes of send and receive differ",
        [UNMATCHED_UNFINISHED] = "not complete, or after one that is not",
        [UNMATCHED_PARTITIONED] = "partitioned",
    };
    return texts[why];
}

/* --- calls ------------------------------------------------------------------------------------ */

/* May the completion of such a send wait for its receiver? */
static bool is_slow(unsigned does, uint64_t b)
{
    return (does & (SLOW | AT_ONCE)) != 0 || (b & ((UINT64_C(1) << 48) - 1)) > LIKELY_SMALL;
}

static int enter(struct messages *m, const struct stream_record *r, struct message_thread *t,
                 struct rt_error *e)
{
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    unsigned does = function < event_mpi_functions ? m->does[function] : 0;
    t->came_up = false;
    if (t->depth == FRAMES)
        t->depth--;
    struct call_frame *f = &t->frames[t->depth++];
    *f = (struct call_frame){.function = function, .ns = r->ns, .a = r->event.a, .b = r->event.b};
    if ((r->event.flags & EVENT_FLAG_CUT) != 0)
        return 0;
    f->looked = true;
    uint32_t process = comms_process_of(m->comms, r->stream);
    if ((does & WAITS) != 0 && likely_is_open(m->likely, process, r->stream))
        f->wait = likely_add_wait(m->likely, process, r->ns);
    if ((does & SENDS) != 0 && is_slow(does, f->b))
        likely_unclear(m->likely, process, f->wait);
    int rc = 0;
    if ((does & PARTITIONED) != 0) {
        m->left.sends[UNMATCHED_PARTITIONED] += (does & SENDS) != 0;
        m->left.receives[UNMATCHED_PARTITIONED] += (does & RECEIVES) != 0;
    } else if ((does & PERSISTENT) == 0) {
        if ((does & SENDS) != 0)
            rc = ends_send(m, r, r->ns, f->a, f->b, does, &f->sent, e);
        if (rc == 0 && (does & (RECEIVES | PROBES)) != 0)
            rc = ends_post(m, r, r->ns, f->a, f->b, does, &f->posted, e);
    }
    return rc;
}

static int release(struct messages *m, uint32_t process, uint64_t request, int64_t ns)
{
    struct message_process *p = &m->processes[process];
    struct handle_entry **at = handles_find(&p->handles, ACTIVE, request, ns);
    if (at != NULL) { /* a receive stays open: what it got is never known */
        struct handle_entry x = handles_take(at);
        if (x.sent != NULL) /* the end of a send in a window is never known */
            queues_settle(m->queues, x.sent, false);
    }
    at = handles_find(&p->handles, PARAMETERS, request, ns);
    if (at != NULL)
        (void)handles_take(at);
    return 0;
}

static int leave_request(struct messages *m, const struct stream_record *r, struct call_frame *f,
                         unsigned does, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct posted *posted = f->posted;
    uint64_t handle = r->event.a;
    bool cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    if (posted != NULL)
        posted->end_ns = r->ns;
    if (handle == 0 && !cut) { /* it has failed, or found nothing */
        ends_settle(m, process, f->sent, r->ns, true);
        ends_over(m, process, f->sent, r->ns);
        return (does & TAKES) == 0 ? ends_never(m, process, posted, r->ns, e) : 0;
    }
    struct handle_entry x = {.kind = (does & PROBES) != 0 ? MESSAGE : ACTIVE,
                             .handle = handle,
                             .ns = r->ns,
                             .sent = f->sent.sent,
                             .likely = f->sent.likely,
                             .slow = (does & SENDS) != 0 && is_slow(does, f->b),
                             .posted = posted};
    bool known = x.sent != NULL || x.likely != 0 || posted != NULL;
    int rc = handle != 0 && known ? handles_add(&m->processes[process].handles, &x, e) : 0;
    ends_over(m, process, f->sent, r->ns);
    return rc;
}

static int leave(struct messages *m, const struct stream_record *r, struct message_thread *t,
                 struct rt_error *e)
{
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    uint32_t process = comms_process_of(m->comms, r->stream);
    unsigned does = function < event_mpi_functions ? m->does[function] : 0;
    while (t->depth > 0 && t->frames[t->depth - 1].function != function)
        t->depth--;
    if (t->depth == 0)
        return 0;
    struct call_frame *f = &t->frames[--t->depth];
    bool cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    t->came_up = (does & INITS) != 0 && !cut;
    t->matched = NULL;
    if ((does & PERSISTENT) != 0 && r->event.a != 0 && f->looked) {
        struct handle_entry **old =
            handles_find(&m->processes[process].handles, PARAMETERS, r->event.a, r->ns);
        if (old != NULL)
            (void)handles_take(old);
        return handles_add(&m->processes[process].handles,
                           &(struct handle_entry){.kind = PARAMETERS,
                                                  .handle = r->event.a,
                                                  .ns = r->ns,
                                                  .does = does,
                                                  .a = f->a,
                                                  .b = f->b},
                           e);
    }
    if ((does & (REQUEST | PROBES)) != 0)
        return leave_request(m, r, f, does, e);
    if ((does & CANCELS) != 0) {
        struct handle_entry **at =
            handles_find(&m->processes[process].handles, ACTIVE, r->event.a, f->ns);
        if (at != NULL && (*at)->sent != NULL)
            (*at)->sent->cancelling = true;
        struct likely_send *s = at != NULL ? likely_sent(m->likely, process, (*at)->likely) : NULL;
        if (s != NULL)
            s->cancelling = true;
    }
    if ((does & FREES) != 0)
        return release(m, process, r->event.a, f->ns);
    ends_settle(m, process, f->sent, r->ns, false);
    ends_over(m, process, f->sent, r->ns);
    return 0;
}

/* --- events within calls ---------------------------------------------------------------------- */

/* Returns the begin of the innermost open call. */
static int64_t begin_of(const struct message_thread *t, const struct stream_record *r)
{
    return t->depth > 0 ? t->frames[t->depth - 1].ns : r->ns;
}

static int started(struct messages *m, const struct stream_record *r,
                   const struct message_thread *t, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct message_process *p = &m->processes[process];
    struct handle_entry **at = handles_find(&p->handles, PARAMETERS, r->event.a, r->ns);
    if (at == NULL) {
        likely_spoil(m->likely, process); /* it may be a send or a receive */
        return 0;
    }
    struct handle_entry x = {.kind = ACTIVE, .handle = r->event.a, .ns = r->ns};
    struct kept_send sent = {NULL, 0};
    const unsigned does = (*at)->does;
    const uint64_t a = (*at)->a, b = (*at)->b;
    int64_t ns = begin_of(t, r);
    int rc = (does & SENDS) != 0 ? ends_send(m, r, ns, a, b, does, &sent, e)
                                 : ends_post(m, r, ns, a, b, does, &x.posted, e);
    ends_over(m, process, sent, r->ns);
    x.sent = sent.sent;
    x.likely = sent.likely;
    x.slow = (does & SENDS) != 0 && is_slow(does, b);
    if (x.posted != NULL)
        x.posted->end_ns = r->ns;
    return rc == 0 && (x.sent != NULL || x.likely != 0 || x.posted != NULL)
               ? handles_add(&p->handles, &x, e)
               : rc;
}

/* Libraries may give one handle to several requests that are complete at once. All but one of them
 * are sends, so it does not matter which of them is taken first. */
static int completed(struct messages *m, const struct stream_record *r, struct message_thread *t,
                     struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct message_process *p = &m->processes[process];
    int32_t source = (int32_t)EVENT_GET(&r->event, EV_MPI_COMPLETE, source);
    bool cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    struct posted *posted = NULL;
    t->matched = NULL;
    struct call_frame *f = t->depth > 0 ? &t->frames[t->depth - 1] : NULL;
    const uint32_t wait = f != NULL ? f->wait : 0;
    if (r->event.a == 0) {
        if (f != NULL && f->posted != NULL) {
            posted = f->posted;
            f->posted = NULL;
        }
    } else {
        struct handle_entry **at = handles_find(&p->handles, ACTIVE, r->event.a, begin_of(t, r));
        if (at == NULL || cut) {
            likely_unclear(m->likely, process, wait);
            return 0;
        }
        struct handle_entry x = handles_take(at);
        posted = x.posted;
        ends_settle(m, process, (struct kept_send){x.sent, x.likely}, r->ns, false);
        if (x.slow)
            likely_unclear(m->likely, process, wait);
    }
    bool told = source != NOBODY;
    if (posted == NULL || (!told && (posted->room == 0 || posted->source < 0 || posted->tag < 0)))
        return 0;
    if (source == PROC_NULL)
        return ends_never(m, process, posted, r->ns, e);
    if (r->ns >= p->whole && !posted->windowed)
        return 0;
    likely_complete(m->likely, process, wait);
    posted->wait = wait;
    posted->received_ns = r->ns;
    if (told) {
        posted->source = source;
        posted->tag = (int32_t)EVENT_GET(&r->event, EV_MPI_COMPLETE, tag);
        t->matched = posted;
        return 0;
    }
    posted->bytes = RECEIVED_ANY;
    return ends_match(m, process, posted, r->ns, e);
}

static int cancelled(struct messages *m, const struct stream_record *r,
                     const struct message_thread *t, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct handle_entry **at =
        handles_find(&m->processes[process].handles, ACTIVE, r->event.a, begin_of(t, r));
    if (at == NULL)
        return 0;
    struct handle_entry x = handles_take(at);
    ends_settle(m, process, (struct kept_send){x.sent, x.likely}, r->ns, true);
    return ends_never(m, process, x.posted, r->ns, e);
}

static int take_bytes(struct messages *m, const struct stream_record *r, struct message_thread *t,
                      struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct posted *posted = t->matched;
    if (posted == NULL)
        return 0;
    t->matched = NULL;
    posted->bytes = r->event.b;
    return ends_match(m, process, posted, r->ns, e);
}

/* Takes the receive of a call that also sends; its enter event described the send. */
static int take_receive(struct messages *m, const struct stream_record *r, struct message_thread *t,
                        struct rt_error *e)
{
    struct call_frame *f = t->depth > 0 ? &t->frames[t->depth - 1] : NULL;
    if (f == NULL || f->posted == NULL)
        return 0;
    struct posted *p = f->posted;
    p->source = (int32_t)EVENT_GET(&r->event, EV_MPI_RECEIVE, source);
    p->tag = (int32_t)EVENT_GET(&r->event, EV_MPI_RECEIVE, tag);
    p->room = r->event.b;
    if (p->source != PROC_NULL)
        return 0;
    f->posted = NULL;
    return ends_never(m, comms_process_of(m->comms, r->stream), p, r->ns, e);
}

static void take_message(struct messages *m, const struct stream_record *r,
                         struct message_thread *t)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct handle_entry **at =
        handles_find(&m->processes[process].handles, MESSAGE, r->event.a, begin_of(t, r));
    if (at != NULL && t->depth > 0)
        t->frames[t->depth - 1].posted = handles_take(at).posted;
}

int messages_take(struct messages *m, const struct stream_record *r, struct rt_error *e)
{
    struct message_thread *t = &m->threads[r->stream];
    uint32_t process = comms_process_of(m->comms, r->stream);
    bool ended;
    if (likely_take(m->likely, r, process, &ended) != 0)
        return no_memory(e);
    if (ended)
        ends_window(m, r);
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enter(m, r, t, e);
    if (EVENT_IS_MPI_LEAVE(r->event.code))
        return leave(m, r, t, e);
    switch (r->event.code) {
    case EV_MPI_READY:
        m->processes[process].is_known = true;
        likely_level(m->likely, process, (int)EVENT_GET(&r->event, EV_MPI_READY, thread_level));
        if (t->came_up && r->event.window >= 0)
            m->processes[process].whole =
                whole_until(comms_file(m->comms, process), r->event.thread, r->event.window,
                            (int)EVENT_GET(&r->event, EV_MPI_READY, thread_level));
        return 0;
    case EV_MPI_STARTED: return started(m, r, t, e);
    case EV_MPI_COMPLETE: return completed(m, r, t, e);
    case EV_MPI_BYTES: return take_bytes(m, r, t, e);
    case EV_MPI_CANCELLED: return cancelled(m, r, t, e);
    case EV_MPI_RECEIVE: return take_receive(m, r, t, e);
    case EV_MPI_MESSAGE: take_message(m, r, t); return 0;
    default: return 0;
    }
}

/* --- choice of messages ----------------------------------------------------------------------- */

static enum { LIKELY, SURE, NONE } chosen;

bool messages_choose(const char *which)
{
    static const char *const names[] = {[LIKELY] = "likely", [SURE] = "sure", [NONE] = "none"};
    for (unsigned i = LIKELY; i <= NONE; i++)
        if (strcmp(which, names[i]) == 0) {
            chosen = i;
            return true;
        }
    return false;
}

static void nothing(void *context, const struct message *m)
{
    (void)context;
    (void)m;
}

/* --- opening and closing ---------------------------------------------------------------------- */

int messages_open(struct messages **messages, const struct streams *streams,
                  const struct comms *comms, void (*found)(void *context, const struct message *m),
                  void *context, struct rt_error *e)
{
    struct messages *m = calloc(1, sizeof *m);
    uint32_t n;
    (void)streams_all(streams, &n);
    *messages = NULL;
    if (m == NULL)
        return no_memory(e);
    m->comms = comms;
    m->found = chosen == NONE ? nothing : found;
    m->context = context;
    m->queues = queues_open(ends_found, m, &m->left);
    m->likely = likely_open(comms, chosen == LIKELY ? ends_found_likely : NULL, m, &m->left);
    m->processes = calloc((size_t)comms_processes(comms) + 1, sizeof *m->processes);
    m->threads = calloc((size_t)n + 1, sizeof *m->threads);
    m->does = calloc((size_t)event_mpi_functions + 1, sizeof *m->does);
    if (m->queues == NULL || m->likely == NULL || m->processes == NULL || m->threads == NULL ||
        m->does == NULL) {
        messages_close(m);
        return no_memory(e);
    }
    for (uint32_t i = 0; i < comms_processes(comms); i++)
        m->processes[i].whole = INT64_MIN;
    for (uint32_t i = 0; i < event_mpi_functions; i++)
        m->does[i] = message_function(event_mpi_name(i));
    *messages = m;
    return 0;
}

static bool is_whole(const void *context, uint32_t sender)
{
    const struct messages *m = context;
    return m->processes[sender].whole == INT64_MAX;
}

int messages_end(struct messages *m, struct unmatched *left, struct rt_error *e)
{
    if (likely_end(m->likely) != 0)
        return no_memory(e);
    queues_settle_all(m->queues, is_whole, m);
    queues_end(m->queues);
    for (uint32_t i = 0; i < comms_processes(m->comms); i++)
        for (const struct posted *p = m->processes[i].posted.first; p != NULL; p = p->next)
            m->left.receives[UNMATCHED_UNFINISHED]++;
    for (uint32_t i = 0; i < comms_processes(m->comms); i++)
        for (const struct posted *p = m->processes[i].windowed.first; p != NULL; p = p->next)
            m->left.receives[UNMATCHED_OUTSIDE] += p->matched || !p->untold;
    *left = m->left;
    return 0;
}

void messages_close(struct messages *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; m->processes != NULL && i < comms_processes(m->comms); i++) {
        posted_free(&m->processes[i].posted);
        posted_free(&m->processes[i].windowed);
        handles_free(&m->processes[i].handles);
    }
    queues_close(m->queues);
    likely_close(m->likely);
    free(m->processes);
    free(m->threads);
    free(m->does);
    free(m);
}
