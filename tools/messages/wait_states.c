/* SPDX-License-Identifier: BSD-3-Clause
 * Finds who waits for whom. Memory holds calls that may turn out to have waited, or to have made
 * others wait: some thousand a thread. Collective calls are in meetings.c. */
#include "tools/messages/wait_states.h"

#include "base/format/event_fields.h"
#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/messages/meetings.h"
#include "tools/messages/message_functions.h"
#include "tools/messages/probes.h"
#include "tools/messages/recorded_numbers.h"
#include "tools/messages/recorded_until.h"
#include "tools/mpi_leave.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 8192 };

/* A call that receives messages or waits for them, or sends one. */
struct waiting_call {
    int64_t begin, end; /* end INT64_MAX: not ended */
    int64_t until;      /* it could not end earlier; INT64_MIN: not known */
    int64_t cause_ns;   /* time within the other rank's call that came late */
    uint32_t cause_stream;
    struct wait_place cause; /* path 0: not known yet */
    int32_t for_rank, window;
    uint32_t path;
    uint16_t function;
};

struct waiting_thread {
    uint32_t depth;
    uint32_t told_path; /* of the next leave, by EV_MPI_CALL_PATH */
    bool came_up;
    struct waiting_call *calls;
    size_t count, room;
    struct probes probes;
};

struct wait_states {
    const struct comms *comms;
    const struct window_span *windows; /* NULL: all, and not those of ideal_times.h */
    struct waiting_thread *threads;
    uint32_t thread_count;
    struct numbers *numbers; /* readers: the threads, then the processes */
    bool *is_numbered;       /* by process: EV_MPI_READY says so */
    int64_t *whole; /* by process, without numbers: everything is recorded up to this time */
    struct meetings *meetings;
    struct ideal_times *ideal;            /* NULL: not wanted */
    bool keeps[EVENT_MPI_FUNCTIONS_MOST]; /* by function: `calls` of threads have its calls */
    void (*told)(void *context, const struct wait_state *w);
    void *context;
    uint64_t left;
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

/* --- calls with messages ---------------------------------------------------------------------- */

static struct waiting_call *call_at(const struct wait_states *w, uint32_t stream, int64_t ns)
{
    const struct waiting_thread *t = &w->threads[stream];
    size_t n;
    SEARCH_FIRST(n, t->count, t->calls[n].begin <= ns);
    return n > 0 && t->calls[n - 1].end >= ns ? &t->calls[n - 1] : NULL;
}

/* Looks up the call that came late. Its path is known once it has ended. */
static void find_cause(const struct wait_states *w, struct waiting_call *c)
{
    if (c->until == INT64_MIN || c->cause.path != 0)
        return;
    const struct waiting_call *late = call_at(w, c->cause_stream, c->cause_ns);
    if (late != NULL)
        c->cause = (struct wait_place){late->function, c->cause_stream, late->path};
}

static void tell(const struct wait_states *w, uint32_t stream, struct waiting_call *c)
{
    int64_t until = c->until < c->end ? c->until : c->end;
    uint32_t process = comms_process_of(w->comms, stream);
    if (c->until == INT64_MIN || until <= c->begin)
        return;
    find_cause(w, c);
    const struct wait_state wait = {.kind = event_mpi_waits(c->function) == EVENT_MPI_WAITS_RECEIVER
                                                ? WAIT_LATE_RECEIVER
                                                : WAIT_LATE_SENDER,
                                    .rank = comms_world_rank(w->comms, process),
                                    .for_rank = c->for_rank,
                                    .for_stream = c->cause_stream,
                                    .window = c->window,
                                    .begin_ns = c->begin,
                                    .ns = until - c->begin,
                                    .for_ns = c->until,
                                    .site = {c->function, stream, c->path},
                                    .cause = c->cause};
    w->told(w->context, &wait);
}

static int add_call(struct wait_states *w, uint32_t stream, const struct waiting_call *c,
                    struct rt_error *e)
{
    struct waiting_thread *t = &w->threads[stream];
    if (t->count == CALLS) { /* everything about the oldest calls is known by now */
        for (size_t i = 0; i < CALLS / 2; i++)
            tell(w, stream, &t->calls[i]);
        t->count -= CALLS / 2;
        memmove(t->calls, t->calls + CALLS / 2, t->count * sizeof *t->calls);
    }
    void *calls = array_grown(t->calls, t->count, &t->room, sizeof *t->calls);
    if (calls == NULL)
        return no_memory(e);
    t->calls = calls;
    t->calls[t->count++] = *c;
    return 0;
}

/* The call could not end before the other rank's call at this time. */
static void set_until(const struct wait_states *w, struct waiting_call *c, int32_t for_rank,
                      uint32_t stream, int64_t ns)
{
    c->until = ns;
    c->for_rank = for_rank;
    c->cause_stream = stream;
    c->cause_ns = ns;
    c->cause = (struct wait_place){.function = EVENT_MPI_FUNCTIONS_MOST, .stream = stream};
    find_cause(w, c);
}

/* Tells the ideal network what the message's two calls depend on. */
static void depend(struct wait_states *w, const struct message *m, bool first)
{
    const struct waiting_call *send = call_at(w, m->send_stream, m->send_ns);
    ideal_needs(w->ideal, m->received_stream, m->received_ns, m->send_stream, m->send_ns, first);
    if (send != NULL && m->send_ns == send->begin &&
        event_mpi_waits(send->function) == EVENT_MPI_WAITS_RECEIVER)
        ideal_needs(w->ideal, m->send_stream, m->send_ns, m->receive_stream, m->receive_ns, false);
}

/* The probe could not end before the message was sent. */
static void find_message(const struct wait_states *w, struct waiting_call *probe,
                         const struct message *m)
{
    set_until(w, probe, m->sender, m->send_stream, m->send_ns);
    if (w->ideal != NULL)
        ideal_needs(w->ideal, m->receive_stream, probe->begin, m->send_stream, m->send_ns, false);
}

/* Returns whether a call of MPI_Probe or MPI_Mprobe has found the message. If so, that call has
 * waited for it, and the receive has not. */
static bool was_found(struct wait_states *w, const struct message *m)
{
    struct waiting_call *c = call_at(w, m->receive_stream, m->receive_ns);
    bool found = c != NULL && event_mpi_waits(c->function) == EVENT_MPI_WAITS_FOUND_MESSAGE;
    const struct probe *p;
    if (found)
        find_message(w, c, m);
    for (uint32_t i = 0; (p = probes_find(&w->threads[m->receive_stream].probes, m, &i)) != NULL;) {
        found = true;
        c = call_at(w, m->receive_stream, p->begin);
        if (c != NULL)
            find_message(w, c, m);
    }
    return found;
}

void wait_states_message(struct wait_states *w, const struct message *m)
{
    struct waiting_call *c = call_at(w, m->received_stream, m->received_ns);
    enum event_mpi_waits waits = c != NULL ? event_mpi_waits(c->function) : EVENT_MPI_WAITS_NOT;
    bool better = false;
    if (w->ideal != NULL)
        depend(w, m, waits == EVENT_MPI_WAITS_FIRST_MESSAGE);
    if (was_found(w, m))
        better = false;
    else if (waits == EVENT_MPI_WAITS_MESSAGES)
        better = c->until == INT64_MIN || m->send_ns > c->until;
    else if (waits == EVENT_MPI_WAITS_FIRST_MESSAGE)
        better = c->until == INT64_MIN || m->send_ns < c->until;
    if (better)
        set_until(w, c, m->sender, m->send_stream, m->send_ns);
    c = call_at(w, m->send_stream, m->send_ns);
    if (c != NULL && event_mpi_waits(c->function) == EVENT_MPI_WAITS_RECEIVER)
        set_until(w, c, m->receiver, m->receive_stream, m->receive_ns);
}

struct wait_place wait_states_sender(const struct wait_states *w, const struct message *m)
{
    const struct waiting_call *c = call_at(w, m->send_stream, m->send_ns);
    struct wait_place at = {.function = EVENT_MPI_FUNCTIONS_MOST, .stream = m->send_stream};
    if (c != NULL) {
        at.function = c->function;
        at.path = c->path;
    }
    return at;
}

/* --- collective calls ------------------------------------------------------------------------- */

/* Gives the call its number. Returns false if it has none. */
static bool number_collective(struct wait_states *w, const struct stream_record *r, uint32_t id,
                              uint32_t comm, uint64_t *number)
{
    uint32_t process = comms_process_of(w->comms, r->stream);
    const struct number_key told = {r->stream, id, 0, 0, NUMBER_OF_COLLECTIVE};
    const struct number_key counted = {w->thread_count + process, comm, 0, 0, NUMBER_OF_COLLECTIVE};
    if (w->is_numbered[process])
        return numbers_take(w->numbers, &told, number);
    return r->ns < w->whole[process] && numbers_count(w->numbers, &counted, number) == 0;
}

static int enter_collective(struct wait_states *w, const struct stream_record *r, uint32_t function,
                            struct rt_error *e)
{
    uint32_t side, process = comms_process_of(w->comms, r->stream);
    uint32_t id = (uint32_t)EVENT_GET(&r->event, EV_MPI_ENTER, comm);
    uint32_t comm = comms_find(w->comms, process, id, &side);
    uint64_t number;
    if (comm == NO_COMM || !number_collective(w, r, id, comm, &number) ||
        (r->event.flags & EVENT_FLAG_CUT) != 0) {
        w->left += w->windows == NULL || window_span_has(w->windows, r->event.window);
        return 0;
    }
    int32_t root = (int32_t)EVENT_GET(&r->event, EV_MPI_ENTER, peer);
    bool is_root = comms_process(w->comms, comm, side, root) == process;
    struct meeting_part part;
    if (meetings_enter(w->meetings, r, comm, number, function, is_root, &part) != 0)
        return no_memory(e);
    if (w->ideal != NULL && part.meeting != NO_MEETING)
        ideal_meets(w->ideal, r->stream, &part);
    return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

/* A call within another one is no wait of its own, but has a number. */
static void skip_number(struct wait_states *w, const struct stream_record *r, uint32_t function)
{
    uint32_t side, id = (uint32_t)EVENT_GET(&r->event, EV_MPI_ENTER, comm);
    uint32_t comm = comms_find(w->comms, comms_process_of(w->comms, r->stream), id, &side);
    enum event_mpi_waits waits = event_mpi_waits(function);
    uint64_t number;
    if (comm != NO_COMM && (waits == EVENT_MPI_WAITS_RANKS || waits == EVENT_MPI_WAITS_ALL_RANKS))
        (void)number_collective(w, r, id, comm, &number);
}

static int enters(struct wait_states *w, const struct stream_record *r, struct rt_error *e)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    t->came_up = false;
    if (t->depth++ != 0) {
        skip_number(w, r, function);
        return 0;
    }
    enum event_mpi_waits waits = event_mpi_waits(function);
    if (waits == EVENT_MPI_WAITS_RANKS || waits == EVENT_MPI_WAITS_ALL_RANKS)
        return enter_collective(w, r, function, e);
    if (!w->keeps[function])
        return 0;
    const struct waiting_call c = {.begin = r->ns,
                                   .end = INT64_MAX,
                                   .until = INT64_MIN,
                                   .window = r->event.window,
                                   .function = (uint16_t)function};
    /* Of a matched probe the message itself tells which call has found it. */
    if (waits == EVENT_MPI_WAITS_FOUND_MESSAGE &&
        (message_function(event_mpi_name(function)) & PROBES) == 0)
        probes_add(&t->probes, w->comms, r);
    return add_call(w, r->stream, &c, e);
}

static void leaves(struct wait_states *w, const struct stream_record *r)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    uint32_t path = mpi_leave_path(&r->event, &t->told_path);
    if (t->depth == 0 || --t->depth != 0)
        return;
    t->came_up = event_mpi_initializes(function) && (r->event.flags & EVENT_FLAG_CUT) == 0;
    meetings_leave(w->meetings, r->stream, r->ns, path);
    struct waiting_call *c = t->count > 0 ? &t->calls[t->count - 1] : NULL;
    if (c == NULL || c->end != INT64_MAX)
        return;
    c->end = r->ns;
    c->path = path;
    find_cause(w, c);
}

/* Forgets open calls: their leave events will not be seen. */
static void forget(struct wait_states *w, uint32_t stream)
{
    struct waiting_thread *t = &w->threads[stream];
    t->depth = 0;
    t->told_path = 0;
    t->came_up = false;
    probes_clear(&t->probes);
    meetings_forget(w->meetings, stream);
    if (t->count > 0 && t->calls[t->count - 1].end == INT64_MAX)
        t->count--;
}

static void come_up(struct wait_states *w, const struct stream_record *r,
                    const struct waiting_thread *t)
{
    uint32_t process = comms_process_of(w->comms, r->stream);
    w->is_numbered[process] = EVENT_GET(&r->event, EV_MPI_READY, numbered) != 0;
    if (t->came_up && r->event.window >= 0)
        w->whole[process] =
            whole_until(comms_file(w->comms, process), r->event.thread, r->event.window,
                        (int)EVENT_GET(&r->event, EV_MPI_READY, thread_level));
}

static int take_number(struct wait_states *w, const struct stream_record *r, struct rt_error *e)
{
    const struct number_key key = {r->stream,
                                   (uint32_t)EVENT_GET(&r->event, EV_MPI_COLLECTIVE_NUMBER, comm),
                                   0, 0, NUMBER_OF_COLLECTIVE};
    const uint32_t process = comms_process_of(w->comms, r->stream);
    uint32_t side, comm = comms_find(w->comms, process, key.comm, &side);
    uint64_t number = EVENT_GET(&r->event, EV_MPI_COLLECTIVE_NUMBER, number);
    if (comm != NO_COMM && meetings_failed(w->meetings, r->stream, comm, number) &&
        w->ideal != NULL)
        ideal_fails(w->ideal, r->stream);
    return numbers_set(w->numbers, &key, number) == 0 ? 0 : no_memory(e);
}

int wait_states_take(struct wait_states *w, const struct stream_record *r, struct rt_error *e)
{
    struct waiting_thread *t = &w->threads[r->stream];
    if (w->ideal != NULL && ideal_take(w->ideal, r) != 0)
        return no_memory(e);
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enters(w, r, e);
    if (EVENT_IS_MPI_LEAVE(r->event.code)) {
        leaves(w, r);
        return 0;
    }
    switch (r->event.code) {
    case EV_DROPPED:
    case EV_WINDOW_CLOSE:
        forget(w, r->stream);
        numbers_forget(w->numbers, r->stream);
        return 0;
    case EV_WINDOW_OPEN: numbers_forget(w->numbers, r->stream); return 0;
    case EV_MPI_READY: come_up(w, r, t); return 0;
    case EV_MPI_CALL_PATH:
        t->told_path = (uint32_t)EVENT_GET(&r->event, EV_MPI_CALL_PATH, path);
        return 0;
    case EV_MPI_COLLECTIVE_NUMBER: return take_number(w, r, e);
    default: return 0;
    }
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* A call that waits for messages, or one that others may wait for. */
static bool is_kept(uint32_t function)
{
    const char *name = event_mpi_name(function);
    unsigned does = message_function(name);
    return event_mpi_waits(function) != EVENT_MPI_WAITS_NOT ||
           ((does & (SENDS | RECEIVES | TAKES)) != 0 && (does & PERSISTENT) == 0) ||
           strcmp(name, "MPI_Start") == 0 || strcmp(name, "MPI_Startall") == 0;
}

int wait_states_open(struct wait_states **waits, const struct streams *streams,
                     const struct comms *comms, const struct window_span *windows,
                     void (*told)(void *context, const struct wait_state *w), void *context,
                     struct rt_error *e)
{
    struct wait_states *w = calloc(1, sizeof *w);
    uint32_t processes = comms_processes(comms);
    *waits = NULL;
    if (w == NULL)
        return no_memory(e);
    (void)streams_all(streams, &w->thread_count);
    w->comms = comms;
    w->windows = windows;
    w->told = told;
    w->context = context;
    w->threads = calloc(w->thread_count + 1u, sizeof *w->threads);
    w->numbers = numbers_open(w->thread_count + processes);
    w->is_numbered = calloc(processes + 1u, sizeof *w->is_numbered);
    w->whole = calloc(processes + 1u, sizeof *w->whole);
    w->ideal = windows != NULL ? ideal_open(streams, windows) : NULL;
    w->meetings = meetings_open(comms, w->thread_count, windows, told, context);
    bool good = w->threads != NULL && w->numbers != NULL && w->is_numbered != NULL &&
                w->whole != NULL && w->meetings != NULL && (w->ideal != NULL || windows == NULL);
    for (uint32_t f = 0; f < event_mpi_functions; f++)
        w->keeps[f] = is_kept(f);
    for (uint32_t i = 0; w->threads != NULL && i < w->thread_count; i++)
        probes_clear(&w->threads[i].probes);
    for (uint32_t i = 0; w->whole != NULL && i < processes; i++)
        w->whole[i] = INT64_MIN;
    if (!good) {
        wait_states_close(w);
        return no_memory(e);
    }
    *waits = w;
    return 0;
}

void wait_states_end(struct wait_states *w, uint64_t *left)
{
    for (uint32_t s = 0; s < w->thread_count; s++)
        for (size_t i = 0; i < w->threads[s].count; i++)
            tell(w, s, &w->threads[s].calls[i]);
    *left = w->left + meetings_end(w->meetings);
}

const struct ideal_window *wait_states_windows(const struct wait_states *w, size_t *count,
                                               struct ideal_run *all)
{
    *count = 0;
    return ideal_end(w->ideal) == 0 ? ideal_windows(w->ideal, count, all) : NULL;
}

void wait_states_close(struct wait_states *w)
{
    if (w == NULL)
        return;
    for (uint32_t s = 0; w->threads != NULL && s < w->thread_count; s++)
        free(w->threads[s].calls);
    meetings_close(w->meetings);
    ideal_close(w->ideal);
    numbers_close(w->numbers);
    free(w->is_numbered);
    free(w->threads);
    free(w->whole);
    free(w);
}
