/* SPDX-License-Identifier: BSD-3-Clause
 * Finds who waits for whom. Memory holds calls that may turn out to have waited, some thousand a
 * thread, and collective calls that not all ranks have entered. */
#include "tools/messages/wait_states.h"

#include "base/format/event_fields.h"
#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/messages/recorded_until.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 8192, WAITING = 4096 };

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
    /* The collective call that the thread is in. */
    bool collects;
    uint32_t comm, place;
    uint64_t turn;
};

struct wait_entry {
    int64_t begin, end; /* end INT64_MAX: not ended */
    int32_t rank, window;
};

/* A collective call of all ranks. */
struct meeting {
    struct wait_entry *entries;
    uint32_t count;
    uint16_t function;
};

struct gathering {
    uint32_t size;  /* ranks; 0: unknown */
    bool broken;    /* later calls cannot be assigned to each other */
    uint64_t first; /* turn of meetings[0] */
    struct meeting *meetings;
    size_t count, room;
    uint64_t *turns; /* by process: its next turn */
};

struct wait_states {
    const struct comms *comms;
    struct waiting_thread *threads;
    uint32_t thread_count;
    int64_t *whole; /* by process: everything is recorded up to this time */
    struct gathering *gatherings;
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

static void end_gathering(struct wait_states *w, struct gathering *g)
{
    for (size_t i = 0; i < g->count; i++) {
        w->left += g->meetings[i].count;
        free(g->meetings[i].entries);
    }
    free(g->meetings);
    g->meetings = NULL;
    g->count = g->room = 0;
    g->broken = true;
}

/* Reports the first meeting: all ranks have entered it, the last one now. */
static void tell_meeting(struct wait_states *w, struct gathering *g)
{
    struct meeting *m = &g->meetings[0];
    const struct wait_entry *last = &m->entries[m->count - 1];
    for (uint32_t i = 0; i < m->count; i++) {
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
    free(m->entries);
    memmove(g->meetings, g->meetings + 1, --g->count * sizeof *g->meetings);
    g->first++;
}

static struct meeting *meeting_of(struct gathering *g, uint64_t turn, uint16_t function,
                                  struct rt_error *e)
{
    void *meetings = array_grown(g->meetings, turn - g->first, &g->room, sizeof *g->meetings);
    if (meetings == NULL) {
        (void)no_memory(e);
        return NULL;
    }
    g->meetings = meetings;
    struct meeting *m = &g->meetings[turn - g->first];
    if (turn - g->first < g->count)
        return m;
    *m = (struct meeting){.entries = calloc(g->size, sizeof *m->entries), .function = function};
    if (m->entries == NULL) {
        (void)no_memory(e);
        return NULL;
    }
    g->count++;
    return m;
}

static int enter_collective(struct wait_states *w, const struct stream_record *r, uint32_t function,
                            struct rt_error *e)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t side, process = comms_process_of(w->comms, r->stream);
    uint32_t comm =
        comms_find(w->comms, process, (uint32_t)EVENT_GET(&r->event, EV_MPI_ENTER, comm), &side);
    struct gathering *g = comm != NO_COMM ? &w->gatherings[comm] : NULL;
    if (g == NULL || g->broken || g->size == 0 || r->ns >= w->whole[process]) {
        w->left++;
        if (g != NULL && !g->broken)
            end_gathering(w, g);
        return 0;
    }
    uint64_t turn = g->turns[process]++;
    if (turn - g->first >= WAITING) {
        w->left++;
        end_gathering(w, g);
        return 0;
    }
    struct meeting *m = meeting_of(g, turn, (uint16_t)function, e);
    if (m == NULL)
        return -ENOMEM;
    if (m->function != function || m->count == g->size) {
        w->left++;
        end_gathering(w, g);
        return 0;
    }
    t->collects = true;
    t->comm = comm;
    t->turn = turn;
    t->place = m->count;
    m->entries[m->count++] =
        (struct wait_entry){r->ns, INT64_MAX, comms_world_rank(w->comms, process), r->event.window};
    if (m->count == g->size)
        tell_meeting(w, g);
    return 0;
}

static void leave_collective(struct wait_states *w, struct waiting_thread *t, int64_t ns)
{
    struct gathering *g = &w->gatherings[t->comm];
    if (t->collects && !g->broken && t->turn >= g->first)
        g->meetings[t->turn - g->first].entries[t->place].end = ns;
    t->collects = false;
}

/* --- events ----------------------------------------------------------------------------------- */

static int enters(struct wait_states *w, const struct stream_record *r, struct rt_error *e)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    t->came_up = false;
    if (t->depth++ != 0)
        return 0;
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
    leave_collective(w, t, r->ns);
    if (t->count > 0 && t->calls[t->count - 1].end == INT64_MAX)
        t->calls[t->count - 1].end = r->ns;
}

/* Forgets open calls: their leave events will not be seen. */
static void forget(struct waiting_thread *t)
{
    t->depth = 0;
    t->collects = t->came_up = false;
    if (t->count > 0 && t->calls[t->count - 1].end == INT64_MAX)
        t->count--;
}

int wait_states_take(struct wait_states *w, const struct stream_record *r, struct rt_error *e)
{
    struct waiting_thread *t = &w->threads[r->stream];
    uint32_t process = comms_process_of(w->comms, r->stream);
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enters(w, r, e);
    if (EVENT_IS_MPI_LEAVE(r->event.code))
        leaves(w, r);
    else if (r->event.code == EV_DROPPED || r->event.code == EV_WINDOW_CLOSE)
        forget(t);
    else if (r->event.code == EV_MPI_READY && t->came_up && r->event.window >= 0)
        w->whole[process] = whole_until(comms_file(w->comms, process), r->event.thread,
                                        r->event.window, (int)(r->event.b & 0xff));
    return 0;
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
    const struct comm *all = comms_all(comms, &w->comm_count);
    (void)streams_all(streams, &w->thread_count);
    w->comms = comms;
    w->told = told;
    w->context = context;
    w->threads = calloc(w->thread_count + 1u, sizeof *w->threads);
    w->whole = calloc(processes + 1u, sizeof *w->whole);
    w->gatherings = calloc(w->comm_count + 1u, sizeof *w->gatherings);
    bool good = w->threads != NULL && w->whole != NULL && w->gatherings != NULL;
    for (uint32_t i = 0; w->whole != NULL && i < processes; i++)
        w->whole[i] = INT64_MIN;
    for (uint32_t i = 0; good && i < w->comm_count; i++) {
        bool known = all[i].size[0] != 0 && (all[i].sides == 1 || all[i].size[1] != 0);
        w->gatherings[i].size =
            known ? all[i].size[0] + (all[i].sides > 1 ? all[i].size[1] : 0) : 0;
        w->gatherings[i].turns = calloc(processes + 1u, sizeof *w->gatherings[i].turns);
        good = w->gatherings[i].turns != NULL;
    }
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
    for (uint32_t i = 0; i < w->comm_count; i++)
        end_gathering(w, &w->gatherings[i]);
    *left = w->left;
}

void wait_states_close(struct wait_states *w)
{
    if (w == NULL)
        return;
    for (uint32_t s = 0; w->threads != NULL && s < w->thread_count; s++)
        free(w->threads[s].calls);
    for (uint32_t i = 0; w->gatherings != NULL && i < w->comm_count; i++) {
        end_gathering(w, &w->gatherings[i]);
        free(w->gatherings[i].turns);
    }
    free(w->gatherings);
    free(w->threads);
    free(w->whole);
    free(w);
}
