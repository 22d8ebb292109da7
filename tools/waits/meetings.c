/* SPDX-License-Identifier: BSD-3-Clause
 * Brings collective calls of all ranks together. Memory holds meetings that not all ranks have
 * entered and left in windows. */
#include "tools/waits/meetings.h"

#include "base/toolkit/array.h"
#include "tools/waits/collective_requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PLACES = 16384 };

struct entry {
    int64_t begin, end; /* end INT64_MAX: not ended, or it has no leave */
    int32_t rank, window;
    uint32_t stream, process;
    uint32_t path;
    uint16_t function;
    bool is_over, is_root;
    bool is_later; /* nonblocking: it is over when its request is complete */
    /* Of a nonblocking call: the one that waited for its request. */
    uint32_t waiting_stream;
    int64_t waiting_ns; /* INT64_MAX: none */
};

struct meeting {
    struct meeting *next; /* in the same place of the hash table */
    uint64_t number;
    uint32_t comm;
    uint32_t serial; /* its number among all meetings */
    struct entry *entries;
    size_t count, room, over;
    size_t requests;  /* of its calls, in the table of requests */
    bool is_complete; /* all ranks have entered; it is not in the hash table any more */
};

struct gathering {
    uint32_t size; /* ranks; 0: unknown */
    struct meeting *meetings[PLACES];
};

/* Where a thread is. */
struct attendance {
    struct meeting *meeting; /* NULL: in none */
    size_t place;            /* its entry there */
};

struct meetings {
    const struct comms *comms;
    const struct window_span *windows; /* NULL: all */
    struct attendance *threads;        /* by stream */
    uint32_t thread_count;
    struct gathering **gatherings; /* by communicator; NULL: no call yet */
    uint32_t comm_count;
    uint32_t made; /* meetings */
    struct collective_requests *requests;
    struct meeting_hooks hooks;
    uint64_t left;
};

struct meetings *meetings_open(const struct comms *comms, uint32_t streams,
                               const struct window_span *windows, const struct meeting_hooks *hooks)
{
    struct meetings *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->comms = comms;
    m->windows = windows;
    m->hooks = *hooks;
    m->thread_count = streams;
    (void)comms_all(comms, &m->comm_count);
    m->threads = calloc(streams + 1u, sizeof *m->threads);
    m->gatherings = calloc(m->comm_count + 1u, sizeof(struct gathering *));
    m->requests = collective_requests_open();
    if (m->threads != NULL && m->gatherings != NULL && m->requests != NULL)
        return m;
    meetings_close(m);
    return NULL;
}

static void free_meeting(struct meetings *m, struct meeting *x)
{
    struct collective_request taken;
    while (x->requests > 0 && collective_requests_take_in(m->requests, x, &taken))
        x->requests--;
    for (size_t i = 0; i < x->count; i++)
        if (m->threads[x->entries[i].stream].meeting == x)
            m->threads[x->entries[i].stream].meeting = NULL;
    free(x->entries);
    free(x);
}

/* Returns which ranks' data a rank needs. */
static enum meeting_need need_of(uint32_t function, bool is_later, bool is_root)
{
    static const char *const of_root[] = {"Bcast", "Scatter", "Scatterv"}, *const for_root[] = {
                                                                               "Reduce", "Gather",
                                                                               "Gatherv"};
    const char *name = event_mpi_name(function) + strlen(is_later ? "MPI_I" : "MPI_");
    size_t n = strlen(name);
    n -= n > 2 && strcmp(name + n - 2, "_c") == 0 ? 2 : 0; /* with large counts */
    for (size_t i = 0; i < 3; i++) {
        if (strlen(of_root[i]) == n && strncasecmp(of_root[i], name, n) == 0)
            return is_root ? NEEDS_NOTHING : NEEDS_ROOT;
        if (strlen(for_root[i]) == n && strncasecmp(for_root[i], name, n) == 0)
            return is_root ? NEEDS_ALL : NEEDS_NOTHING;
    }
    return NEEDS_ALL;
}

/* --- waits ------------------------------------------------------------------------------------ */

/* Returns the call on which this one depended: the root's, if this one needs only its data and it
 * came later; else the last one. */
static const struct entry *cause_of(const struct meeting *x, const struct entry *e,
                                    const struct entry *last)
{
    if (need_of(e->function, e->is_later, e->is_root) != NEEDS_ROOT)
        return last;
    for (size_t i = 0; i < x->count; i++)
        if (x->entries[i].is_root && x->entries[i].begin > e->begin)
            return &x->entries[i];
    return last;
}

/* Reports the wait for the request of a nonblocking call. */
static void tell_later(const struct meetings *m, const struct meeting *x, const struct entry *e,
                       const struct entry *last)
{
    const struct entry *cause = cause_of(x, e, last);
    const struct awaited_meeting a = {
        .stream = e->waiting_stream,
        .ns = e->waiting_ns,
        .until = last->begin,
        .for_rank = last->rank,
        .cause_stream = cause->stream,
        .cause_ns = cause->begin,
        .cause = {.stream = last->stream, .path = last->path, .function = last->function}};
    if (a.ns < a.until)
        m->hooks.awaited(m->hooks.awaited_context, &a);
}

/* Reports the waits for the rank that came last. */
static void tell(const struct meetings *m, const struct meeting *x)
{
    const struct entry *last = x->entries;
    for (size_t i = 1; i < x->count; i++)
        if (x->entries[i].begin >= last->begin)
            last = &x->entries[i];
    for (size_t i = 0; i < x->count; i++) {
        const struct entry *e = &x->entries[i];
        int64_t until = e->end < last->begin ? e->end : last->begin;
        if (e->is_later)
            tell_later(m, x, e, last);
        if (e->is_later || until <= e->begin)
            continue;
        const struct entry *cause = cause_of(x, e, last);
        const struct wait_state wait = {
            .kind = WAIT_AT_COLLECTIVE,
            .rank = e->rank,
            .for_rank = last->rank,
            .for_stream = cause->stream,
            .window = e->window,
            .begin_ns = e->begin,
            .ns = until - e->begin,
            .for_ns = cause->begin,
            .site = {.stream = e->stream, .path = e->path, .function = e->function},
            .cause = {.stream = last->stream, .path = last->path, .function = last->function}};
        m->hooks.told(m->hooks.context, &wait);
    }
}

static bool counts(const struct meetings *m, int32_t window)
{
    return m->windows == NULL || window_span_has(m->windows, window);
}

/* The meeting's calls are left without the calls of other ranks. */
static void leave_out(struct meetings *m, const struct meeting *x)
{
    for (size_t i = 0; i < x->count; i++)
        m->left += counts(m, x->entries[i].window);
}

/* Do all ranks call the same function? A call that fails has the number of the next one, so they
 * may differ as long as calls are open. */
static bool is_agreed(const struct meeting *x)
{
    for (size_t i = 1; i < x->count; i++)
        if (x->entries[i].function != x->entries[0].function)
            return false;
    return true;
}

static void tell_if_over(struct meetings *m, struct meeting *x)
{
    if (!x->is_complete || x->over < x->count)
        return;
    if (is_agreed(x))
        tell(m, x);
    else
        leave_out(m, x);
    free_meeting(m, x);
}

/* --- calls ------------------------------------------------------------------------------------ */

static struct gathering *gathering_of(struct meetings *m, uint32_t comm)
{
    struct gathering **g = &m->gatherings[comm];
    uint32_t count;
    const struct comm *c = &comms_all(m->comms, &count)[comm];
    bool known = c->size[0] != 0 && (c->sides == 1 || c->size[1] != 0);
    if (*g == NULL && (*g = calloc(1, sizeof **g)) != NULL && known)
        (*g)->size = c->size[0] + (c->sides > 1 ? c->size[1] : 0);
    return *g;
}

/* Returns the pointer that links to the meeting of this number, which it makes if there is none;
 * NULL if there is no memory. */
static struct meeting **meeting_of(struct meetings *m, struct gathering *g, uint32_t comm,
                                   uint64_t number)
{
    struct meeting **at = &g->meetings[number % PLACES];
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    if (*at == NULL && (*at = calloc(1, sizeof **at)) != NULL) {
        (*at)->number = number;
        (*at)->comm = comm;
        (*at)->serial = m->made++;
    }
    return *at != NULL ? at : NULL;
}

/* Returns the place for a process's entry: a new one, or that of its earlier call of this number,
 * which has failed then (outside windows, where nothing tells). */
static size_t place_of(struct meetings *m, struct meeting *x, uint32_t process)
{
    size_t place = 0;
    while (place < x->count && x->entries[place].process != process)
        place++;
    if (place == x->count) {
        x->count++;
    } else {
        struct attendance *t = &m->threads[x->entries[place].stream];
        if (t->meeting == x)
            t->meeting = NULL;
        x->over -= x->entries[place].is_over;
    }
    return place;
}

int meetings_enter(struct meetings *m, const struct meeting_call *call, struct meeting_part *part)
{
    *part = (struct meeting_part){.meeting = NO_MEETING};
    uint32_t process = comms_process_of(m->comms, call->stream);
    struct gathering *g = gathering_of(m, call->comm);
    struct meeting **at =
        g != NULL && g->size != 0 ? meeting_of(m, g, call->comm, call->number) : NULL;
    if (g != NULL && g->size == 0) {
        m->left += counts(m, call->window);
        return 0;
    }
    void *entries =
        at != NULL ? array_grown((*at)->entries, (*at)->count, &(*at)->room, sizeof *(*at)->entries)
                   : NULL;
    if (entries == NULL)
        return -ENOMEM;
    struct meeting *x = *at;
    x->entries = entries;
    size_t place = place_of(m, x, process);
    x->entries[place] = (struct entry){.begin = call->begin,
                                       .end = INT64_MAX,
                                       .rank = comms_world_rank(m->comms, process),
                                       .window = call->window,
                                       .stream = call->stream,
                                       .process = process,
                                       .function = call->function,
                                       .is_root = call->is_root,
                                       .is_later = call->is_later,
                                       .waiting_ns = INT64_MAX};
    m->threads[call->stream] = (struct attendance){x, place};
    part->meeting = x->serial;
    part->need = call->is_later ? NEEDS_NOTHING : need_of(call->function, false, call->is_root);
    part->is_root = call->is_root;
    if (x->count == g->size) {
        x->is_complete = true;
        *at = x->next;
    }
    return 0;
}

static void end_entry(struct meetings *m, struct meeting *x, struct entry *e)
{
    x->over += !e->is_over;
    e->is_over = true;
    tell_if_over(m, x);
}

/* Returns the entry of a request that has been taken out of the table. */
static struct entry *entry_of(const struct collective_request *r)
{
    struct entry *e = r->meeting->entries;
    r->meeting->requests--;
    while (e->process != r->process)
        e++;
    return e;
}

/* Removes the entry at `place`; the last one takes its place. */
static void remove_entry(struct meetings *m, struct meeting *x, size_t place)
{
    struct attendance *last = &m->threads[x->entries[--x->count].stream];
    x->entries[place] = x->entries[x->count];
    if (last->meeting == x)
        last->place = place;
}

bool meetings_failed(struct meetings *m, uint32_t stream, uint32_t comm, uint64_t number)
{
    struct attendance *t = &m->threads[stream];
    struct meeting *x = t->meeting;
    if (x == NULL || x->comm != comm || x->number != number)
        return false;
    remove_entry(m, x, t->place);
    t->meeting = NULL;
    struct meeting **at = &m->gatherings[comm]->meetings[number % PLACES];
    if (x->is_complete) { /* others come in its place */
        x->is_complete = false;
        x->next = *at;
        *at = x;
    }
    while (*at != x)
        at = &(*at)->next;
    if (x->count > 0)
        return true;
    *at = x->next;
    free_meeting(m, x);
    return true;
}

/* Takes the end of the call in which the thread is. Returns its entry; NULL: it is in none. */
static struct entry *leave(struct meetings *m, uint32_t stream, int64_t ns, uint32_t path,
                           struct meeting **meeting)
{
    struct attendance *t = &m->threads[stream];
    *meeting = t->meeting;
    if (*meeting == NULL)
        return NULL;
    struct entry *e = &(*meeting)->entries[t->place];
    t->meeting = NULL;
    e->end = ns;
    e->path = path;
    return e;
}

int meetings_leave(struct meetings *m, uint32_t stream, int64_t ns, uint32_t path, uint64_t request)
{
    struct meeting *x;
    struct entry *e = leave(m, stream, ns, path, &x);
    if (e == NULL)
        return 0;
    if (!e->is_later || request == 0) {
        end_entry(m, x, e);
        return 0;
    }
    const struct collective_request r = {
        .handle = request, .process = e->process, .stream = stream, .made_ns = ns, .meeting = x};
    x->requests++;
    return collective_requests_add(m->requests, &r);
}

bool meetings_complete(struct meetings *m, uint32_t stream, uint64_t request, int64_t ns,
                       bool waits, struct meeting_part *part)
{
    struct collective_request r, older;
    uint32_t process = comms_process_of(m->comms, stream);
    if (!collective_requests_take(m->requests, process, request, ns, &r))
        return false;
    struct entry *e = entry_of(&r);
    *part = (struct meeting_part){.meeting = r.meeting->serial,
                                  .need = need_of(e->function, true, e->is_root)};
    e->waiting_stream = stream;
    e->waiting_ns = waits ? ns : INT64_MAX;
    end_entry(m, r.meeting, e);
    /* The handle is one that the library gives to requests which are complete at once. */
    while (collective_requests_take(m->requests, process, request, ns, &older))
        end_entry(m, older.meeting, entry_of(&older));
    return true;
}

void meetings_forget(struct meetings *m, uint32_t stream)
{
    struct meeting *x;
    struct collective_request r;
    struct entry *e = leave(m, stream, INT64_MAX, 0, &x);
    if (e != NULL)
        end_entry(m, x, e);
    while (collective_requests_take_of(m->requests, stream, &r))
        end_entry(m, r.meeting, entry_of(&r));
}

/* --- the end ---------------------------------------------------------------------------------- */

static void free_gathering(struct meetings *m, struct gathering *g)
{
    for (size_t i = 0; g != NULL && i < PLACES; i++)
        for (struct meeting *x = g->meetings[i], *next; x != NULL; x = next) {
            next = x->next;
            leave_out(m, x);
            free_meeting(m, x);
        }
    free(g);
}

static void free_gatherings(struct meetings *m)
{
    for (uint32_t i = 0; m->gatherings != NULL && i < m->comm_count; i++) {
        free_gathering(m, m->gatherings[i]);
        m->gatherings[i] = NULL;
    }
}

uint64_t meetings_end(struct meetings *m)
{
    for (uint32_t i = 0; i < m->thread_count; i++)
        meetings_forget(m, i);
    free_gatherings(m);
    return m->left;
}

void meetings_close(struct meetings *m)
{
    if (m == NULL)
        return;
    free_gatherings(m);
    for (uint32_t i = 0; m->threads != NULL && i < m->thread_count; i++)
        if (m->threads[i].meeting != NULL)
            free_meeting(m, m->threads[i].meeting);
    free(m->threads);
    free(m->gatherings);
    collective_requests_close(m->requests);
    free(m);
}
