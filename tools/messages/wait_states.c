/* SPDX-License-Identifier: BSD-3-Clause
 * Finds who waits for whom. Memory holds calls that may turn out to have waited, some thousand a
 * thread, and collective calls that not all ranks have entered in windows. */
#include "tools/messages/wait_states.h"

#include "base/format/event_fields.h"
#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/messages/numbers.h"
#include "tools/messages/recorded_until.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 8192, PLACES = 16384 };

/* A call that receives messages, or sends one. */
struct waiting_call {
    int64_t begin, end; /* end INT64_MAX: not ended */
    int64_t until;      /* it could not end earlier; INT64_MIN: not known */
    int32_t for_rank, window;
    uint16_t function;
};

struct waiting_thread {
    uint32_t depth;
    bool came_up;
    struct waiting_call *calls;
    size_t count, room;
    struct meeting *meeting; /* the collective call that the thread is in, or NULL */
    uint32_t place;          /* its entry there */
};

struct wait_entry {
    int64_t begin, end; /* end INT64_MAX: not ended */
    int32_t rank, window;
    uint32_t stream, process;
};

/* A collective call, as far as ranks have entered it. */
struct meeting {
    struct meeting *next; /* in the same place of the hash table */
    uint64_t number;
    struct wait_entry *entries;
    size_t count, room;
    uint16_t function;
};

struct gathering {
    uint32_t size; /* ranks; 0: unknown */
    struct meeting *meetings[PLACES];
};

struct wait_states {
    const struct comms *comms;
    struct waiting_thread *threads;
    uint32_t thread_count;
    struct numbers *numbers; /* readers: the threads, then the processes */
    bool *is_numbered;       /* by process: EV_MPI_READY says so */
    int64_t *whole; /* by process, without numbers: everything is recorded up to this time */
    struct gathering **gatherings; /* by communicator; NULL: no call yet */
    uint32_t comm_count;
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

static void tell(const struct wait_states *w, uint32_t stream, const struct waiting_call *c)
{
    int64_t until = c->until < c->end ? c->until : c->end;
    if (c->until == INT64_MIN || until <= c->begin)
        return;
    const struct wait_state wait = {
        .kind = event_mpi_waits(c->function) == EVENT_MPI_WAITS_RECEIVER ? WAIT_LATE_RECEIVER
                                                                         : WAIT_LATE_SENDER,
        .function = c->function,
        .rank = comms_world_rank(w->comms, comms_process_of(w->comms, stream)),
        .for_rank = c->for_rank,
        .window = c->window,
        .begin_ns = c->begin,
        .ns = until - c->begin};
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

static struct waiting_call *call_at(const struct wait_states *w, uint32_t stream, int64_t ns)
{
    const struct waiting_thread *t = &w->threads[stream];
    size_t n;
    SEARCH_FIRST(n, t->count, t->calls[n].begin <= ns);
    return n > 0 && t->calls[n - 1].end >= ns ? &t->calls[n - 1] : NULL;
}

void wait_states_message(struct wait_states *w, const struct message *m)
{
    struct waiting_call *c = call_at(w, m->receive_stream, m->received_ns);
    enum event_mpi_waits waits = c != NULL ? event_mpi_waits(c->function) : EVENT_MPI_WAITS_NOT;
    bool better = false;
    if (waits == EVENT_MPI_WAITS_MESSAGES)
        better = c->until == INT64_MIN || m->send_ns > c->until;
    else if (waits == EVENT_MPI_WAITS_FIRST_MESSAGE)
        better = c->until == INT64_MIN || m->send_ns < c->until;
    if (better) {
        c->until = m->send_ns;
        c->for_rank = m->sender;
    }
    c = call_at(w, m->send_stream, m->send_ns);
    if (c != NULL && event_mpi_waits(c->function) == EVENT_MPI_WAITS_RECEIVER) {
        c->until = m->receive_ns;
        c->for_rank = m->receiver;
    }
}

/* --- collective calls ------------------------------------------------------------------------- */

static void free_meeting(struct wait_states *w, struct meeting *m)
{
    for (size_t i = 0; i < m->count; i++)
        w->threads[m->entries[i].stream].meeting = NULL;
    free(m->entries);
    free(m);
}

/* Reports a meeting that all ranks have entered, the last one now. */
static void tell_meeting(const struct wait_states *w, const struct meeting *m)
{
    const struct wait_entry *last = &m->entries[m->count - 1];
    for (size_t i = 0; i < m->count; i++) {
        const struct wait_entry *x = &m->entries[i];
        int64_t until = x->end < last->begin ? x->end : last->begin;
        const struct wait_state wait = {.kind = WAIT_AT_COLLECTIVE,
                                        .function = m->function,
                                        .rank = x->rank,
                                        .for_rank = last->rank,
                                        .window = x->window,
                                        .begin_ns = x->begin,
                                        .ns = until - x->begin};
        if (wait.ns > 0)
            w->told(w->context, &wait);
    }
}

/* Returns the pointer that links to the meeting of this number, which it makes if there is none;
 * NULL if there is no memory. */
static struct meeting **meeting_of(struct wait_states *w, uint32_t comm, uint64_t number,
                                   uint32_t function)
{
    struct gathering *g = w->gatherings[comm];
    struct meeting **at = &g->meetings[number % PLACES];
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    if (*at == NULL && (*at = calloc(1, sizeof **at)) != NULL) {
        (*at)->number = number;
        (*at)->function = (uint16_t)function;
    }
    return *at != NULL ? at : NULL;
}

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

static int enter_meeting(struct wait_states *w, const struct stream_record *r, uint32_t comm,
                         uint64_t number, uint32_t function, struct rt_error *e)
{
    uint32_t process = comms_process_of(w->comms, r->stream);
    struct meeting **at = meeting_of(w, comm, number, function);
    void *entries =
        at != NULL ? array_grown((*at)->entries, (*at)->count, &(*at)->room, sizeof *(*at)->entries)
                   : NULL;
    if (entries == NULL)
        return no_memory(e);
    struct meeting *m = *at;
    size_t place = 0;
    if (m->function != function) { /* the ranks do not agree on what they call */
        w->left++;
        return 0;
    }
    m->entries = entries;
    while (place < m->count && m->entries[place].process != process)
        place++; /* the rank's earlier call of this number had failed */
    if (place < m->count)
        w->threads[m->entries[place].stream].meeting = NULL;
    m->count += place == m->count;
    m->entries[place] = (struct wait_entry){.begin = r->ns,
                                            .end = INT64_MAX,
                                            .rank = comms_world_rank(w->comms, process),
                                            .window = r->event.window,
                                            .stream = r->stream,
                                            .process = process};
    w->threads[r->stream].meeting = m;
    w->threads[r->stream].place = (uint32_t)place;
    if (m->count == w->gatherings[comm]->size) {
        tell_meeting(w, m);
        *at = m->next;
        free_meeting(w, m);
    }
    return 0;
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
        w->left++;
        return 0;
    }
    if (w->gatherings[comm] == NULL) {
        uint32_t count;
        const struct comm *c = &comms_all(w->comms, &count)[comm];
        bool known = c->size[0] != 0 && (c->sides == 1 || c->size[1] != 0);
        if ((w->gatherings[comm] = calloc(1, sizeof *w->gatherings[comm])) == NULL)
            return no_memory(e);
        if (known)
            w->gatherings[comm]->size = c->size[0] + (c->sides > 1 ? c->size[1] : 0);
    }
    if (w->gatherings[comm]->size == 0) {
        w->left++;
        return 0;
    }
    return enter_meeting(w, r, comm, number, function, e);
}

static void leave_collective(struct waiting_thread *t, int64_t ns)
{
    if (t->meeting != NULL)
        t->meeting->entries[t->place].end = ns;
    t->meeting = NULL;
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
    switch (event_mpi_waits(function)) {
    case EVENT_MPI_WAITS_NOT: return 0;
    case EVENT_MPI_WAITS_RANKS:
    case EVENT_MPI_WAITS_ALL_RANKS: return enter_collective(w, r, function, e);
    default: break;
    }
    const struct waiting_call c = {.begin = r->ns,
                                   .end = INT64_MAX,
                                   .until = INT64_MIN,
                                   .window = r->event.window,
                                   .function = (uint16_t)function};
    return add_call(w, r->stream, &c, e);
}

static void leaves(struct wait_states *w, const struct stream_record *r)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    if (t->depth == 0 || --t->depth != 0)
        return;
    t->came_up = event_mpi_initializes(function) && (r->event.flags & EVENT_FLAG_CUT) == 0;
    leave_collective(t, r->ns);
    if (t->count > 0 && t->calls[t->count - 1].end == INT64_MAX)
        t->calls[t->count - 1].end = r->ns;
}

/* Forgets open calls: their leave events will not be seen. */
static void forget(struct waiting_thread *t)
{
    t->depth = 0;
    t->came_up = false;
    t->meeting = NULL;
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
    uint64_t number = EVENT_GET(&r->event, EV_MPI_COLLECTIVE_NUMBER, number);
    return numbers_set(w->numbers, &key, number) == 0 ? 0 : no_memory(e);
}

int wait_states_take(struct wait_states *w, const struct stream_record *r, struct rt_error *e)
{
    struct waiting_thread *t = &w->threads[r->stream];
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enters(w, r, e);
    if (EVENT_IS_MPI_LEAVE(r->event.code)) {
        leaves(w, r);
        return 0;
    }
    switch (r->event.code) {
    case EV_DROPPED:
    case EV_WINDOW_CLOSE:
        forget(t);
        numbers_forget(w->numbers, r->stream);
        return 0;
    case EV_WINDOW_OPEN: numbers_forget(w->numbers, r->stream); return 0;
    case EV_MPI_READY: come_up(w, r, t); return 0;
    case EV_MPI_COLLECTIVE_NUMBER: return take_number(w, r, e);
    default: return 0;
    }
}

/* --- opening and closing ---------------------------------------------------------------------- */

int wait_states_open(struct wait_states **waits, const struct streams *streams,
                     const struct comms *comms,
                     void (*told)(void *context, const struct wait_state *w), void *context,
                     struct rt_error *e)
{
    struct wait_states *w = calloc(1, sizeof *w);
    uint32_t processes = comms_processes(comms);
    *waits = NULL;
    if (w == NULL)
        return no_memory(e);
    (void)comms_all(comms, &w->comm_count);
    (void)streams_all(streams, &w->thread_count);
    w->comms = comms;
    w->told = told;
    w->context = context;
    w->threads = calloc(w->thread_count + 1u, sizeof *w->threads);
    w->numbers = numbers_open(w->thread_count + processes);
    w->is_numbered = calloc(processes + 1u, sizeof *w->is_numbered);
    w->whole = calloc(processes + 1u, sizeof *w->whole);
    w->gatherings = calloc(w->comm_count + 1u, sizeof(struct gathering *));
    bool good = w->threads != NULL && w->numbers != NULL && w->is_numbered != NULL &&
                w->whole != NULL && w->gatherings != NULL;
    for (uint32_t i = 0; w->whole != NULL && i < processes; i++)
        w->whole[i] = INT64_MIN;
    if (!good) {
        wait_states_close(w);
        return no_memory(e);
    }
    *waits = w;
    return 0;
}

static void free_gathering(struct wait_states *w, struct gathering *g)
{
    for (size_t i = 0; g != NULL && i < PLACES; i++)
        for (struct meeting *m = g->meetings[i], *next; m != NULL; m = next) {
            next = m->next;
            w->left += m->count;
            free_meeting(w, m);
        }
    free(g);
}

void wait_states_end(struct wait_states *w, uint64_t *left)
{
    for (uint32_t s = 0; s < w->thread_count; s++)
        for (size_t i = 0; i < w->threads[s].count; i++)
            tell(w, s, &w->threads[s].calls[i]);
    for (uint32_t i = 0; i < w->comm_count; i++) {
        free_gathering(w, w->gatherings[i]);
        w->gatherings[i] = NULL;
    }
    *left = w->left;
}

void wait_states_close(struct wait_states *w)
{
    if (w == NULL)
        return;
    for (uint32_t i = 0; w->gatherings != NULL && i < w->comm_count; i++)
        free_gathering(w, w->gatherings[i]);
    for (uint32_t s = 0; w->threads != NULL && s < w->thread_count; s++)
        free(w->threads[s].calls);
    free(w->gatherings);
    numbers_close(w->numbers);
    free(w->is_numbered);
    free(w->threads);
    free(w->whole);
    free(w);
}
