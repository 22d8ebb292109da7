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

/* --- calls ------------------------------------------------------------------------------------ */

/* Has ends_post() counted a receive that may get a message? An UNTOLD one is counted later. */
static bool is_counted(unsigned does, uint64_t a, uint64_t b, const struct posted *posted)
{
    bool from_nobody = (does & UNTOLD) == 0 && (int32_t)EV_MPI_ENTER_peer(a, b) == PROC_NULL;
    return (does & RECEIVES) != 0 && posted == NULL && !from_nobody;
}

static int enter(struct messages *m, const struct stream_record *r, struct message_thread *t,
                 struct rt_error *e)
{
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    unsigned does = function < event_mpi_functions ? m->does[function] : 0;
    t->came_up = false;
    if (t->depth == FRAMES)
        t->depth--;
    struct call_frame *f = &t->frames[t->depth];
    *f = (struct call_frame){.function = function, .ns = r->ns, .a = r->event.a, .b = r->event.b};
    int rc = 0;
    f->looked = (r->event.flags & EVENT_FLAG_CUT) == 0;
    f->blocks = (does & RECEIVES) != 0 && (does & REQUEST) == 0;
    if (f->looked && (does & PERSISTENT) == 0) {
        if ((does & SENDS) != 0)
            rc = ends_send(m, r, r->ns, f->a, f->b, does, &f->send, &f->sends, e);
        if (rc == 0 && (does & (RECEIVES | PROBES)) != 0)
            rc = ends_post(m, r, r->ns, f->a, f->b, does, &f->posted, e);
        f->is_counted = is_counted(does, f->a, f->b, f->posted);
    }
    t->depth++;
    return rc;
}

/* MPI_Request_free: a receive stays open, what it gets is never known. An inactive persistent
 * request may have the handle of an older one that another thread's call has completed, but not
 * recorded yet. */
static void release(struct messages *m, uint32_t process, uint64_t request, int64_t ns)
{
    struct handles *handles = &m->processes[process].handles;
    struct handle_entry **at = handles_find(handles, PARAMETERS, request, ns);
    int64_t made = at != NULL ? handles_take(at).ns : INT64_MIN;
    at = handles_find(handles, ACTIVE, request, ns);
    if (at != NULL && (*at)->ns >= made)
        (void)handles_take(at);
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
    if (handle == 0 && !cut) /* it has failed, or found nothing */
        return (does & TAKES) == 0 ? ends_never(m, process, posted, e) : 0;
    if ((does & PROBES) != 0 && posted == NULL && f->looked && handle != 0) {
        f->is_counted = true;
        if (ends_post(m, r, f->ns, f->a, f->b, does & ~(unsigned)PROBES, &posted, e) != 0)
            return -ENOMEM;
    }
    const struct handle_entry x = {.kind = (does & PROBES) != 0 ? MESSAGE : ACTIVE,
                                   .handle = handle,
                                   .ns = r->ns,
                                   .stream = r->stream,
                                   .sends = f->sends,
                                   .sent = f->send.identity,
                                   .posted = posted,
                                   .is_counted = f->is_counted};
    int rc = handle != 0 && (f->sends || posted != NULL || f->is_counted)
                 ? handles_add(&m->processes[process].handles, &x, e)
                 : 0;
    return rc == 0 && f->sends ? ends_sent(m, &f->send, r->ns, e) : rc;
}

static int leave_persistent(struct messages *m, const struct stream_record *r,
                            const struct call_frame *f, unsigned does, struct rt_error *e)
{
    struct handles *handles = &m->processes[comms_process_of(m->comms, r->stream)].handles;
    struct handle_entry **old = handles_find(handles, PARAMETERS, r->event.a, r->ns);
    if (old != NULL)
        (void)handles_take(old);
    return handles_add(handles,
                       &(struct handle_entry){.kind = PARAMETERS,
                                              .handle = r->event.a,
                                              .ns = r->ns,
                                              .stream = r->stream,
                                              .does = does,
                                              .a = f->a,
                                              .b = f->b},
                       e);
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
    t->came_up = (does & INITS) != 0 && (r->event.flags & EVENT_FLAG_CUT) == 0;
    t->matched = NULL;
    if ((does & PERSISTENT) != 0 && r->event.a != 0 && f->looked)
        return leave_persistent(m, r, f, does, e);
    if ((does & (REQUEST | PROBES)) != 0)
        return leave_request(m, r, f, does, e);
    if ((does & CANCELS) != 0 && !m->processes[process].is_numbered)
        return ends_cancelling(m, process, r->event.a, f->ns, e);
    if ((does & FREES) != 0)
        release(m, process, r->event.a, f->ns);
    return f->sends ? ends_sent(m, &f->send, r->ns, e) : 0;
}

/* --- events within calls ---------------------------------------------------------------------- */

/* Returns the begin of the innermost open call. */
static int64_t begin_of(const struct message_thread *t, const struct stream_record *r)
{
    return t->depth > 0 ? t->frames[t->depth - 1].ns : r->ns;
}

/* A persistent request whose creation is outside windows starts: if it sends, the event before has
 * told the message. */
static int started_unseen(struct messages *m, const struct stream_record *r,
                          struct message_thread *t, struct rt_error *e)
{
    struct message_end send;
    bool sends = false;
    if (!t->told || t->number.code != EV_MPI_SEND_NUMBER)
        return 0;
    const uint64_t comm = EVENT_GET(&t->number, EV_MPI_SEND_NUMBER, comm);
    int rc = ends_send(m, r, begin_of(t, r), t->number.a, EVENT_PUT(EV_MPI_ENTER, comm, comm), 0,
                       &send, &sends, e);
    return rc == 0 && sends ? ends_sent(m, &send, r->ns, e) : rc;
}

static int started(struct messages *m, const struct stream_record *r, struct message_thread *t,
                   struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct message_process *p = &m->processes[process];
    struct handle_entry **at = handles_find(&p->handles, PARAMETERS, r->event.a, r->ns);
    if (at == NULL)
        return started_unseen(m, r, t, e);
    struct handle_entry x = {
        .kind = ACTIVE, .handle = r->event.a, .ns = r->ns, .stream = r->stream};
    struct message_end send;
    const unsigned does = (*at)->does;
    const uint64_t a = (*at)->a, b = (*at)->b;
    int64_t ns = begin_of(t, r);
    int rc = (does & SENDS) != 0 ? ends_send(m, r, ns, a, b, does, &send, &x.sends, e)
                                 : ends_post(m, r, ns, a, b, does, &x.posted, e);
    if (rc != 0)
        return rc;
    if (x.sends) {
        x.sent = send.identity;
        rc = ends_sent(m, &send, r->ns, e);
    }
    if (x.posted != NULL)
        x.posted->end_ns = r->ns;
    x.is_counted = is_counted(does, a, b, x.posted);
    return rc == 0 && (x.sends || x.posted != NULL || x.is_counted)
               ? handles_add(&p->handles, &x, e)
               : rc;
}

/* Finds the receive that is complete. Sets *posted to NULL if it is a send, or not known. Libraries
 * may give one handle to several requests that are complete at once. All but one of them are sends,
 * so it does not matter which of them is taken first. */
static int completed_receive(struct messages *m, const struct stream_record *r,
                             struct message_thread *t, struct posted **posted, struct rt_error *e)
{
    struct message_process *p = &m->processes[comms_process_of(m->comms, r->stream)];
    struct call_frame *f = t->depth > 0 ? &t->frames[t->depth - 1] : NULL;
    bool told = t->told && t->number.code == EV_MPI_RECEIVE_NUMBER, counted = false;
    *posted = NULL;
    if (r->event.a == 0 && f != NULL) {
        *posted = f->posted;
        f->posted = NULL;
        counted = f->is_counted;
    } else if (r->event.a != 0) {
        struct handle_entry **at = handles_find(&p->handles, ACTIVE, r->event.a, begin_of(t, r));
        if (at != NULL) {
            counted = (*at)->is_counted;
            *posted = handles_take(at).posted;
        }
    }
    return *posted == NULL && told && !counted ? ends_post_unseen(m, r, begin_of(t, r), posted, e)
                                               : 0;
}

static int completed(struct messages *m, const struct stream_record *r, struct message_thread *t,
                     struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    const struct message_process *p = &m->processes[process];
    int32_t source = (int32_t)EVENT_GET(&r->event, EV_MPI_COMPLETE, source);
    struct posted *posted;
    t->matched = NULL;
    if ((r->event.flags & EVENT_FLAG_CUT) != 0)
        return 0;
    if (completed_receive(m, r, t, &posted, e) != 0)
        return -ENOMEM;
    bool told = source != NOBODY;
    if (posted == NULL)
        return 0;
    if (source == PROC_NULL)
        return ends_never(m, process, posted, e);
    if (!told)
        ends_number(m, r, posted); /* the number goes on, whatever becomes of the receive */
    if (!told && (posted->room == 0 || posted->source < 0 || posted->tag < 0))
        return 0;
    if (!p->is_numbered && r->ns >= p->whole)
        return 0;
    posted->received_ns = r->ns;
    posted->received_stream = r->stream;
    posted->window = r->event.window;
    if (told) {
        posted->source = source;
        posted->tag = (int32_t)EVENT_GET(&r->event, EV_MPI_COMPLETE, tag);
    }
    posted->bytes = BYTES_UNKNOWN;
    if (told)
        ends_number(m, r, posted);
    if (!told)
        return ends_match(m, process, posted, e);
    t->matched = posted;
    return 0;
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
    if (x.sends)
        (void)waiting_remove_send(m->waiting, &x.sent, NULL);
    return ends_never(m, process, x.posted, e);
}

static int take_bytes(struct messages *m, const struct stream_record *r, struct message_thread *t,
                      struct rt_error *e)
{
    struct posted *posted = t->matched;
    if (posted == NULL)
        return 0;
    t->matched = NULL;
    posted->bytes = r->event.b;
    return ends_match(m, comms_process_of(m->comms, r->stream), posted, e);
}

/* Takes the receive of a call that also sends; its enter event described the send. */
static int take_receive(struct messages *m, const struct stream_record *r, struct message_thread *t,
                        struct rt_error *e)
{
    struct call_frame *f = t->depth > 0 ? &t->frames[t->depth - 1] : NULL;
    if (f != NULL && f->is_counted && (m->does[f->function] & UNTOLD) != 0) {
        f->is_counted = is_counted(RECEIVES, r->event.a, f->b, NULL);
        return ends_post(m, r, f->ns, r->event.a, f->b, RECEIVES, &f->posted, e);
    }
    if (f == NULL || f->posted == NULL)
        return 0;
    struct posted *p = f->posted;
    p->source = (int32_t)EVENT_GET(&r->event, EV_MPI_RECEIVE, source);
    p->tag = (int32_t)EVENT_GET(&r->event, EV_MPI_RECEIVE, tag);
    p->room = r->event.b;
    p->untold = false;
    if (p->source != PROC_NULL)
        return 0;
    f->posted = NULL;
    return ends_never(m, comms_process_of(m->comms, r->stream), p, e);
}

static void take_message(struct messages *m, const struct stream_record *r,
                         struct message_thread *t)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct handle_entry **at =
        handles_find(&m->processes[process].handles, MESSAGE, r->event.a, begin_of(t, r));
    if (at == NULL || t->depth == 0)
        return;
    const struct handle_entry x = handles_take(at);
    t->frames[t->depth - 1].posted = x.posted;
    t->frames[t->depth - 1].is_counted = x.is_counted;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int take_number(struct messages *m, const struct stream_record *r, struct message_thread *t,
                       struct rt_error *e)
{
    bool a_send = r->event.code == EV_MPI_SEND_NUMBER;
    const struct number_key key = {r->stream,
                                   (uint32_t)EVENT_GET(&r->event, EV_MPI_SEND_NUMBER, comm),
                                   (int32_t)EVENT_GET(&r->event, EV_MPI_SEND_NUMBER, peer),
                                   (int32_t)EVENT_GET(&r->event, EV_MPI_SEND_NUMBER, tag),
                                   a_send ? NUMBER_OF_SEND : NUMBER_OF_RECEIVE};
    const uint64_t number = EVENT_GET(&r->event, EV_MPI_SEND_NUMBER, number);
    t->number = r->event;
    if ((!a_send && EVENT_GET(&r->event, EV_MPI_RECEIVE_NUMBER, later) != 0) || key.comm == 0 ||
        event_is_partitioned(number))
        return 0;
    return numbers_set(m->numbers, &key, number) == 0 ? 0 : no_memory(e);
}

static bool is_of_stream(const void *context, const struct handle_entry *x)
{
    return x->stream == *(const uint32_t *)context;
}

/* What happens between windows is not seen: numbers go on, and handles are used again. */
static void forget(struct messages *m, const struct stream_record *r)
{
    struct message_process *p = &m->processes[comms_process_of(m->comms, r->stream)];
    numbers_forget(m->numbers, r->stream);
    /* What a thread that ends leaves open, other threads may complete in the same window. */
    if (p->is_numbered && r->event.code == EV_WINDOW_CLOSE &&
        EVENT_GET(&r->event, EV_WINDOW_CLOSE, reason) != RT_WINDOW_THREAD_END)
        handles_forget(&p->handles, is_of_stream, &r->stream);
}

static void come_up(struct messages *m, const struct stream_record *r,
                    const struct message_thread *t)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    int level = (int)EVENT_GET(&r->event, EV_MPI_READY, thread_level);
    m->processes[process].is_numbered = EVENT_GET(&r->event, EV_MPI_READY, numbered) != 0;
    m->processes[process].is_multithreaded = level > LEVEL_SERIALIZED;
    if (t->came_up && r->event.window >= 0)
        m->processes[process].whole =
            whole_until(comms_file(m->comms, process), r->event.thread, r->event.window, level);
}

static int take(struct messages *m, const struct stream_record *r, struct message_thread *t,
                struct rt_error *e)
{
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enter(m, r, t, e);
    if (EVENT_IS_MPI_LEAVE(r->event.code))
        return leave(m, r, t, e);
    switch (r->event.code) {
    case EV_WINDOW_OPEN:
    case EV_WINDOW_CLOSE:
    case EV_DROPPED: forget(m, r); return 0;
    case EV_MPI_READY: come_up(m, r, t); return 0;
    case EV_MPI_SEND_NUMBER:
    case EV_MPI_RECEIVE_NUMBER: return take_number(m, r, t, e);
    case EV_MPI_NUMBER_LATER: return ends_later(m, r, e);
    case EV_MPI_STARTED: return started(m, r, t, e);
    case EV_MPI_COMPLETE: return completed(m, r, t, e);
    case EV_MPI_BYTES: return take_bytes(m, r, t, e);
    case EV_MPI_CANCELLED: return cancelled(m, r, t, e);
    case EV_MPI_RECEIVE: return take_receive(m, r, t, e);
    case EV_MPI_MESSAGE: take_message(m, r, t); return 0;
    default: return 0;
    }
}

int messages_take(struct messages *m, const struct stream_record *r, struct rt_error *e)
{
    struct message_thread *t = &m->threads[r->stream];
    int rc = take(m, r, t, e);
    if (r->event.code != EV_MPI_NUMBER_LATER) /* it may come between a number and its event */
        t->told = r->event.code == EV_MPI_SEND_NUMBER || r->event.code == EV_MPI_RECEIVE_NUMBER;
    return rc;
}

/* --- choice of messages ----------------------------------------------------------------------- */

static bool chosen_none;

bool messages_choose(const char *which)
{
    chosen_none = strcmp(which, "none") == 0;
    return chosen_none || strcmp(which, "all") == 0;
}

const char *messages_chosen(void)
{
    return chosen_none ? "none" : "all";
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
    m->found = chosen_none ? nothing : found;
    m->context = context;
    m->thread_count = n;
    m->numbers = numbers_open(n + comms_processes(comms));
    m->waiting = waiting_open();
    m->processes = calloc((size_t)comms_processes(comms) + 1, sizeof *m->processes);
    m->threads = calloc((size_t)n + 1, sizeof *m->threads);
    m->does = calloc((size_t)event_mpi_functions + 1, sizeof *m->does);
    if (m->numbers == NULL || m->waiting == NULL || m->processes == NULL || m->threads == NULL ||
        m->does == NULL) {
        messages_close(m);
        return no_memory(e);
    }
    for (uint32_t i = 0; i < comms_processes(comms); i++) {
        m->processes[i].whole = INT64_MIN;
        m->processes[i].first_thread = UINT32_MAX;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct message_process *p = &m->processes[comms_process_of(comms, i)];
        m->threads[i].next = p->first_thread;
        p->first_thread = i;
    }
    for (uint32_t i = 0; i < event_mpi_functions; i++)
        m->does[i] = message_function(event_mpi_name(i));
    *messages = m;
    return 0;
}

int messages_end(struct messages *m, struct unmatched *left, struct rt_error *e)
{
    for (uint32_t i = 0; i < comms_processes(m->comms); i++)
        if (ends_release(m, i, true, e) != 0)
            return -ENOMEM;
    ends_leave_rest(m);
    *left = m->left;
    return 0;
}

void messages_close(struct messages *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; m->processes != NULL && i < comms_processes(m->comms); i++) {
        posted_free(&m->processes[i].posted);
        for (struct posted *p = m->processes[i].held, *next; p != NULL; p = next) {
            next = p->next;
            free(p);
        }
        handles_free(&m->processes[i].handles);
        for (struct later *l = m->processes[i].later, *next; l != NULL; l = next) {
            next = l->next;
            free(l);
        }
    }
    waiting_close(m->waiting);
    numbers_close(m->numbers);
    free(m->processes);
    free(m->threads);
    free(m->does);
    free(m);
}
