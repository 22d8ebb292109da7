/* SPDX-License-Identifier: BSD-3-Clause
 * Finds who waits for whom: takes the events of all threads, and the messages between them. Calls
 * are in waiting_calls.c, collective ones in collective_calls.c. */
#include "tools/waits/wait_states.h"

#include "base/format/event_fields.h"
#include "tools/waits/collective_calls.h"
#include "tools/messages/message_functions.h"
#include "tools/waits/probes.h"
#include "tools/waits/waiting_calls.h"
#include "tools/mpi_leave.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct waiting_thread {
    uint32_t depth;
    uint32_t told_path; /* of the next leave, by EV_MPI_CALL_PATH */
    uint32_t function;  /* of the outermost call, and when it began */
    int64_t begin;
    bool came_up;
    struct probes probes;
};

struct wait_states {
    struct waiting_thread *threads; /* by stream */
    uint32_t thread_count;
    struct waiting_calls *calls;
    struct collective_calls *collectives;
    struct ideal_steps *steps; /* NULL: the ideal network is not wanted */
    struct ideal_times *ideal; /* once wait_states_windows() has been called */
    const struct streams *streams;
    const struct window_span *windows;
    const struct comms *comms;
    bool keeps[EVENT_MPI_FUNCTIONS_MOST]; /* by function: its calls are waiting calls */
};

const char *wait_kind_name(enum wait_kind kind)
{
    static const char *const names[] = {"late sender", "late receiver", "collective"};
    return names[kind];
}

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Tells the ideal network what the message's two calls depend on. */
static void depend(struct wait_states *w, const struct message *m, bool first)
{
    const struct waiting_call *send = waiting_calls_at(w->calls, m->send_stream, m->send_ns);
    ideal_steps_need(w->steps, m->received_stream, m->received_ns, m->send_stream, m->send_ns,
                     first);
    if (send != NULL && m->send_ns == send->begin &&
        event_mpi_waits(send->function) == EVENT_MPI_WAITS_RECEIVER)
        ideal_steps_need(w->steps, m->send_stream, m->send_ns, m->receive_stream, m->receive_ns,
                         false);
}

/* The probe could not end before the message was sent. */
static void find_message(const struct wait_states *w, struct waiting_call *probe,
                         const struct message *m)
{
    waiting_calls_until(w->calls, probe, WAIT_LATE_SENDER, m->sender, m->send_stream, m->send_ns);
    if (w->steps != NULL)
        ideal_steps_need(w->steps, m->receive_stream, probe->begin, m->send_stream, m->send_ns,
                         false);
}

/* Returns whether a call of MPI_Probe or MPI_Mprobe has found the message. If so, that call has
 * waited for it, and the receive has not. */
static bool was_found(struct wait_states *w, const struct message *m)
{
    struct waiting_call *c = waiting_calls_at(w->calls, m->receive_stream, m->receive_ns);
    bool found = c != NULL && event_mpi_waits(c->function) == EVENT_MPI_WAITS_FOUND_MESSAGE;
    const struct probe *p;
    if (found)
        find_message(w, c, m);
    for (uint32_t i = 0; (p = probes_find(&w->threads[m->receive_stream].probes, m, &i)) != NULL;) {
        found = true;
        c = waiting_calls_at(w->calls, m->receive_stream, p->begin);
        if (c != NULL)
            find_message(w, c, m);
    }
    return found;
}

void wait_states_message(struct wait_states *w, const struct message *m)
{
    struct waiting_call *c = waiting_calls_at(w->calls, m->received_stream, m->received_ns);
    enum event_mpi_waits waits = c != NULL ? event_mpi_waits(c->function) : EVENT_MPI_WAITS_NOT;
    if (w->steps != NULL)
        depend(w, m, waits == EVENT_MPI_WAITS_FIRST_MESSAGE);
    if (!was_found(w, m) && c != NULL && waiting_call_needs(c, m->send_ns))
        waiting_calls_until(w->calls, c, WAIT_LATE_SENDER, m->sender, m->send_stream, m->send_ns);
    c = waiting_calls_at(w->calls, m->send_stream, m->send_ns);
    if (c != NULL && event_mpi_waits(c->function) == EVENT_MPI_WAITS_RECEIVER)
        waiting_calls_until(w->calls, c, WAIT_LATE_RECEIVER, m->receiver, m->receive_stream,
                            m->receive_ns);
}

struct wait_place wait_states_sender(const struct wait_states *w, const struct message *m)
{
    const struct waiting_call *c = waiting_calls_at(w->calls, m->send_stream, m->send_ns);
    struct wait_place at = {.function = EVENT_MPI_FUNCTIONS_MOST, .stream = m->send_stream};
    if (c != NULL) {
        at.function = c->function;
        at.path = c->path;
    }
    return at;
}

/* A call has completed a request of a collective call, whose last rank came late. */
static void await_meeting(void *context, const struct awaited_meeting *a)
{
    const struct wait_states *w = context;
    struct waiting_call *c = waiting_calls_at(w->calls, a->stream, a->ns);
    if (c != NULL && waiting_call_needs(c, a->until))
        waiting_calls_await(w->calls, c, a->for_rank, a->until, a->cause_stream, a->cause_ns,
                            &a->cause);
}

/* --- events ----------------------------------------------------------------------------------- */

static int enters(struct wait_states *w, const struct stream_record *r)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    bool is_nested = t->depth++ != 0;
    t->came_up = false;
    if (collective_calls_enter(w->collectives, r, function, is_nested) != 0)
        return -ENOMEM;
    if (is_nested)
        return 0;
    t->function = function;
    t->begin = r->ns;
    if (!w->keeps[function])
        return 0;
    /* Of a matched probe the message itself tells which call has found it. */
    if (event_mpi_waits(function) == EVENT_MPI_WAITS_FOUND_MESSAGE &&
        (message_function(event_mpi_name(function)) & PROBES) == 0)
        probes_add(&t->probes, w->comms, r);
    return waiting_calls_enter(w->calls, r->stream, r->ns, r->event.window, function);
}

static int leaves(struct wait_states *w, const struct stream_record *r)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    uint32_t path = mpi_leave_path(&r->event, &t->told_path);
    if (t->depth == 0 || --t->depth != 0)
        return 0;
    t->came_up = event_mpi_initializes(function) && (r->event.flags & EVENT_FLAG_CUT) == 0;
    waiting_calls_leave(w->calls, r->stream, r->ns, path);
    return collective_calls_leave(w->collectives, r, path);
}

/* Forgets open calls: their leave events will not be seen. */
static void forget(struct wait_states *w, uint32_t stream)
{
    struct waiting_thread *t = &w->threads[stream];
    t->depth = 0;
    t->told_path = 0;
    t->came_up = false;
    probes_clear(&t->probes);
    waiting_calls_forget(w->calls, stream);
    collective_calls_forget(w->collectives, stream);
}

/* Takes the events other than the begins and ends of calls. */
static int take_other(struct wait_states *w, const struct stream_record *r)
{
    struct waiting_thread *t = &w->threads[r->stream];
    switch (r->event.code) {
    case EV_DROPPED:
    case EV_WINDOW_CLOSE: forget(w, r->stream); return 0;
    case EV_WINDOW_OPEN: collective_calls_window(w->collectives, r->stream); return 0;
    case EV_MPI_READY: collective_calls_ready(w->collectives, r, t->came_up); return 0;
    case EV_MPI_CALL_PATH:
        t->told_path = (uint32_t)EVENT_GET(&r->event, EV_MPI_CALL_PATH, path);
        return 0;
    case EV_MPI_COLLECTIVE_NUMBER: return collective_calls_number(w->collectives, r);
    case EV_MPI_COMM: return t->depth == 1 ? collective_calls_made_comm(w->collectives, r) : 0;
    case EV_MPI_COMPLETE:
        if (t->depth > 0)
            collective_calls_complete(w->collectives, r, t->function, t->begin);
        return 0;
    default: return 0;
    }
}

int wait_states_take(struct wait_states *w, const struct stream_record *r, struct rt_error *e)
{
    int rc = w->steps != NULL ? ideal_steps_take(w->steps, r) : 0;
    if (rc == 0 && EVENT_IS_MPI_ENTER(r->event.code))
        rc = enters(w, r);
    else if (rc == 0 && EVENT_IS_MPI_LEAVE(r->event.code))
        rc = leaves(w, r);
    else if (rc == 0)
        rc = take_other(w, r);
    if (rc != 0)
        rt_error_set(e, "no memory");
    return rc;
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* A call that waits for messages, or one that others may wait for. */
static bool is_kept(uint32_t function)
{
    const char *name = event_mpi_name(function);
    unsigned does = message_function(name);
    enum event_mpi_waits waits = event_mpi_waits(function);
    return (waits >= EVENT_MPI_WAITS_MESSAGES && waits <= EVENT_MPI_WAITS_RECEIVER) ||
           ((does & (SENDS | RECEIVES | TAKES)) != 0 && (does & PERSISTENT) == 0) ||
           strcmp(name, "MPI_Start") == 0 || strcmp(name, "MPI_Startall") == 0;
}

int wait_states_open(struct wait_states **waits, const struct streams *streams,
                     const struct comms *comms, const struct window_span *windows,
                     void (*told)(void *context, const struct wait_state *w), void *context,
                     struct rt_error *e)
{
    struct wait_states *w = calloc(1, sizeof *w);
    *waits = NULL;
    if (w == NULL)
        return no_memory(e);
    const struct meeting_hooks hooks = {told, context, await_meeting, w};
    (void)streams_all(streams, &w->thread_count);
    w->comms = comms;
    w->threads = calloc(w->thread_count + 1u, sizeof *w->threads);
    w->calls = waiting_calls_open(comms, w->thread_count, told, context);
    w->streams = streams;
    w->windows = windows;
    w->steps = windows != NULL ? ideal_steps_open(streams) : NULL;
    w->collectives = collective_calls_open(comms, w->thread_count, windows, w->steps, &hooks);
    for (uint32_t f = 0; f < event_mpi_functions; f++)
        w->keeps[f] = is_kept(f);
    for (uint32_t i = 0; w->threads != NULL && i < w->thread_count; i++)
        probes_clear(&w->threads[i].probes);
    if (w->threads == NULL || w->calls == NULL || w->collectives == NULL ||
        (w->steps == NULL && windows != NULL)) {
        wait_states_close(w);
        return no_memory(e);
    }
    *waits = w;
    return 0;
}

void wait_states_end(struct wait_states *w, uint64_t *left)
{
    *left = collective_calls_end(w->collectives);
    waiting_calls_end(w->calls);
}

const struct ideal_window *wait_states_windows(struct wait_states *w, size_t *count,
                                               struct ideal_run *all)
{
    *count = 0;
    w->ideal = ideal_replay(w->steps, w->streams, w->windows);
    return w->ideal != NULL ? ideal_windows(w->ideal, count, all) : NULL;
}

void wait_states_close(struct wait_states *w)
{
    if (w == NULL)
        return;
    waiting_calls_close(w->calls);
    collective_calls_close(w->collectives);
    ideal_close(w->ideal);
    ideal_steps_close(w->steps);
    free(w->threads);
    free(w);
}
