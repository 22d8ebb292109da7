/* SPDX-License-Identifier: BSD-3-Clause
 * What each event says of sends and receives: calls that are open, requests, messages of matched probes. */
#include "tools/emu/messages.h"

#include "tools/emu/handles.h"
#include "tools/emu/message_functions.h"
#include "tools/emu/posted.h"
#include "tools/emu/ways.h"
#include "tools/emu/whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- state ------------------------------------------------------------------------------------------------------------------ */

enum { FRAMES = 32, COMM_MANY = 0xffff, NOBODY = INT32_MIN, PROC_NULL = -2 };
#define SECOND INT64_C(1000000000) /* clocks of nodes are off by less */

/* A call that is open. */
struct frame {
    uint32_t function;
    int64_t ns;
    uint64_t a, b;
    struct sent *sent;
    struct posted *posted;
    bool looked; /* at all that it is about */
};

struct thread {
    struct frame frames[FRAMES];
    uint32_t depth;
    struct posted *matched; /* its bytes come next */
    bool came_up;           /* MPI_Init was its last call */
};

struct process {
    int64_t whole; /* until then */
    bool is_known; /* MPI has come up, or it sends and receives without; else it may be late */
    struct posted_list posted;
    struct handles handles;
};

struct emu_messages {
    const struct emu_comms *comms;
    void (*found)(void *context, const struct emu_message *m);
    void *context;
    struct ways *ways;
    struct process *processes;
    struct thread *threads; /* by stream */
    unsigned *does;         /* by number of function */
    struct emu_unmatched left;
};

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

const char *emu_unmatched_text(enum emu_unmatched_reason why)
{
    static const char *const texts[EMU_REASONS] = {
        [EMU_OUTSIDE] = "made by a process that had been outside windows or lost something",
        [EMU_ALONE] = "the partner is not in the recording",
        [EMU_UNIDENTIFIED] = "the communicator or the request is not known",
        [EMU_CONCURRENT] = "threads did the same at once",
        [EMU_UNLIKE] = "sizes of send and receive differ",
        [EMU_UNFINISHED] = "not complete, or behind one that is not",
        [EMU_PARTITIONED] = "partitioned",
    };
    return texts[why];
}

/* --- both ends ---------------------------------------------------------------------------------------------------------------- */

static void tell(void *context, const struct way_key *key, const struct sent *s,
                 const struct received *r)
{
    const struct emu_messages *m = context;
    m->found(m->context, &(struct emu_message){
                             .send_stream = s->stream,
                             .receive_stream = r->stream,
                             .send_ns = s->ns,
                             .sent_ns = s->end_ns,
                             .receive_ns = r->ns,
                             .received_ns = r->received_ns,
                             .bytes = s->bytes,
                             .tag = key->tag,
                             .sender = emu_comms_world_rank(m->comms, key->sender),
                             .receiver = emu_comms_world_rank(m->comms, key->receiver),
                             .comm = key->comm,
                         });
}

/* The process behind a rank that is a peer of this one's. */
static uint32_t peer_of(const struct emu_messages *m, uint32_t process, uint32_t comm, int32_t rank)
{
    uint32_t count;
    const struct emu_comm *c = &emu_comms_all(m->comms, &count)[comm];
    for (uint32_t side = 0; c->sides == 2 && side < 2; side++)
        for (uint32_t i = 0; i < c->size[side]; i++)
            if (emu_comms_process(m->comms, comm, side, (int32_t)i) == process)
                return emu_comms_process(m->comms, comm, side ^ 1, rank);
    return emu_comms_process(m->comms, comm, 0, rank);
}

/* EMU_NO_COMM: not known. One that the process itself had no number for may be any: from here on nothing is sure. */
static uint32_t comm_of(struct emu_messages *m, uint32_t process, uint64_t b, int64_t ns)
{
    uint32_t id = (uint32_t)(b >> 48), side;
    if (id == COMM_MANY && m->processes[process].whole > ns)
        m->processes[process].whole = ns;
    return id != 0 && id != COMM_MANY ? emu_comms_find(m->comms, process, id, &side) : EMU_NO_COMM;
}

/* Nothing will come from there that is sure. */
static bool is_past(const struct emu_messages *m, uint32_t process, int64_t now)
{
    int64_t whole = m->processes[process].whole;
    return m->processes[process].is_known && whole < INT64_MAX - SECOND && now > whole + SECOND;
}

static int send(struct emu_messages *m, const struct emu_record *r, int64_t ns, uint64_t a,
                uint64_t b, struct sent **out, struct rt_error *e)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    int32_t peer = (int32_t)(uint32_t)a;
    if (peer == PROC_NULL)
        return 0;
    uint32_t comm = comm_of(m, process, b, ns);
    m->processes[process].is_known = true;
    if (ns >= m->processes[process].whole || comm == EMU_NO_COMM) {
        m->left.sends[comm == EMU_NO_COMM ? EMU_UNIDENTIFIED : EMU_OUTSIDE]++;
        return 0;
    }
    struct way_key key = {comm, process, peer_of(m, process, comm, peer), (int32_t)(a >> 32)};
    if (key.receiver == EMU_NO_PROCESS ||
        (is_past(m, key.receiver, ns) && !ways_expects(m->ways, &key, false))) {
        m->left.sends[EMU_ALONE]++;
        return 0;
    }
    *out = ways_send(m->ways, &key,
                     &(struct sent){.ns = ns,
                                    .end_ns = INT64_MAX,
                                    .bytes = b & ((UINT64_C(1) << 48) - 1),
                                    .stream = r->stream});
    return *out != NULL ? 0 : no_memory(e);
}

static int post(struct emu_messages *m, const struct emu_record *r, int64_t ns, uint64_t a,
                uint64_t b, unsigned does, struct posted **out, struct rt_error *e)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    struct process *p = &m->processes[process];
    bool untold = (does & UNTOLD) != 0;
    if (!untold && (int32_t)(uint32_t)a == PROC_NULL)
        return 0;
    uint32_t comm = comm_of(m, process, b, ns);
    p->is_known = true;
    if (ns >= p->whole || comm == EMU_NO_COMM) {
        if (!untold) /* that one may be from nobody */
            m->left.receives[comm == EMU_NO_COMM ? EMU_UNIDENTIFIED : EMU_OUTSIDE]++;
        return 0;
    }
    *out = posted_add(&p->posted, &(struct posted){.comm = comm,
                                                   .stream = r->stream,
                                                   .source = untold ? POSTED_ANY : (int32_t)a,
                                                   .tag = untold ? POSTED_ANY : (int32_t)(a >> 32),
                                                   .ns = ns,
                                                   .end_ns = INT64_MAX});
    return *out != NULL ? 0 : no_memory(e);
}

static int go_on(struct emu_messages *m, uint32_t process, int64_t now, struct rt_error *e)
{
    struct posted *p;
    int rc = 0;
    while (rc == 0 && (p = posted_next(&m->processes[process].posted)) != NULL) {
        struct way_key key = {p->comm, peer_of(m, process, p->comm, p->source), process, p->tag};
        if (key.sender == EMU_NO_PROCESS ||
            (is_past(m, key.sender, now) && !ways_expects(m->ways, &key, true)))
            m->left.receives[EMU_ALONE]++;
        else if (ways_receive(m->ways, &key,
                              &(struct received){.ns = p->ns,
                                                 .received_ns = p->received_ns,
                                                 .bytes = p->bytes,
                                                 .stream = p->stream,
                                                 .concurrent = p->concurrent}) != 0)
            rc = no_memory(e);
        free(p);
    }
    return rc;
}

static int never(struct emu_messages *m, uint32_t process, struct posted *p, int64_t now,
                 struct rt_error *e)
{
    if (p == NULL)
        return 0;
    posted_remove(&m->processes[process].posted, p);
    return go_on(m, process, now, e);
}

/* --- calls ---------------------------------------------------------------------------------------------------------------------- */

static int enter(struct emu_messages *m, const struct emu_record *r, struct thread *t,
                 struct rt_error *e)
{
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    unsigned does = function < event_mpi_functions ? m->does[function] : 0;
    t->came_up = false;
    if (t->depth == FRAMES)
        t->depth--;
    struct frame *f = &t->frames[t->depth++];
    *f = (struct frame){.function = function, .ns = r->ns, .a = r->event.a, .b = r->event.b};
    if ((r->event.flags & EVENT_FLAG_CUT) != 0)
        return 0;
    f->looked = true;
    int rc = 0;
    if ((does & PARTITIONED) != 0) {
        m->left.sends[EMU_PARTITIONED] += (does & SENDS) != 0;
        m->left.receives[EMU_PARTITIONED] += (does & RECEIVES) != 0;
    } else if ((does & PERSISTENT) == 0) {
        if ((does & SENDS) != 0)
            rc = send(m, r, r->ns, f->a, f->b, &f->sent, e);
        if (rc == 0 && (does & (RECEIVES | PROBES)) != 0)
            rc = post(m, r, r->ns, f->a, f->b, does, &f->posted, e);
    }
    return rc;
}

static int release(struct emu_messages *m, uint32_t process, uint64_t request)
{
    struct process *p = &m->processes[process];
    struct entry **at = find_entry(&p->handles, ACTIVE, request);
    if (at != NULL) { /* a receive stays open: nobody will know what it got */
        struct entry x = take_entry(at);
        if (x.sent != NULL)
            ways_settle(m->ways, x.sent, false);
    }
    at = find_entry(&p->handles, PARAMETERS, request);
    if (at != NULL)
        (void)take_entry(at);
    return 0;
}

static int leave_request(struct emu_messages *m, const struct emu_record *r, struct frame *f,
                         unsigned does, struct rt_error *e)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    struct process *p = &m->processes[process];
    struct sent *sent = f->sent;
    struct posted *posted = f->posted;
    uint64_t handle = r->event.a;
    bool cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    if (posted != NULL)
        posted->end_ns = r->ns;
    if (handle == 0 && !cut) { /* it has failed, or found nothing */
        if (sent != NULL) {
            ways_settle(m->ways, sent, true);
            ways_over(m->ways, sent, r->ns);
        }
        return (does & TAKES) == 0 ? never(m, process, posted, r->ns, e) : 0;
    }
    struct entry x = {.kind = (does & PROBES) != 0 ? MESSAGE : ACTIVE,
                      .handle = handle,
                      .sent = sent,
                      .posted = posted};
    int rc = handle != 0 && (sent != NULL || posted != NULL) ? add_entry(&p->handles, &x, e) : 0;
    if (sent != NULL)
        ways_over(m->ways, sent, r->ns);
    return rc;
}

static int leave(struct emu_messages *m, const struct emu_record *r, struct thread *t,
                 struct rt_error *e)
{
    uint32_t function = EVENT_MPI_FUNCTION(r->event.code);
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    unsigned does = function < event_mpi_functions ? m->does[function] : 0;
    while (t->depth > 0 && t->frames[t->depth - 1].function != function)
        t->depth--;
    if (t->depth == 0)
        return 0;
    struct frame *f = &t->frames[--t->depth];
    bool cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    t->came_up = (does & INITS) != 0 && !cut;
    t->matched = NULL;
    if ((does & PERSISTENT) != 0 && r->event.a != 0 && f->looked) {
        struct entry **old = find_entry(&m->processes[process].handles, PARAMETERS, r->event.a);
        if (old != NULL)
            (void)take_entry(old);
        return add_entry(
            &m->processes[process].handles,
            &(struct entry){
                .kind = PARAMETERS, .handle = r->event.a, .does = does, .a = f->a, .b = f->b},
            e);
    }
    if ((does & (REQUEST | PROBES)) != 0)
        return leave_request(m, r, f, does, e);
    if ((does & CANCELS) != 0) {
        struct entry **at = find_entry(&m->processes[process].handles, ACTIVE, r->event.a);
        if (at != NULL && (*at)->sent != NULL)
            (*at)->sent->cancelling = true;
    }
    if ((does & FREES) != 0)
        return release(m, process, r->event.a);
    if (f->sent != NULL) {
        ways_settle(m->ways, f->sent, false);
        ways_over(m->ways, f->sent, r->ns);
    }
    return 0;
}

/* --- what happens in calls -------------------------------------------------------------------------------------------------------- */

static int started(struct emu_messages *m, const struct emu_record *r, const struct thread *t,
                   struct rt_error *e)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    struct process *p = &m->processes[process];
    struct entry **at = find_entry(&p->handles, PARAMETERS, r->event.a);
    if (at == NULL)
        return 0;
    struct entry x = {.kind = ACTIVE, .handle = r->event.a};
    const unsigned does = (*at)->does;
    const uint64_t a = (*at)->a, b = (*at)->b;
    int64_t ns = t->depth > 0 ? t->frames[t->depth - 1].ns : r->ns;
    int rc = (does & SENDS) != 0 ? send(m, r, ns, a, b, &x.sent, e)
                                 : post(m, r, ns, a, b, does, &x.posted, e);
    if (x.sent != NULL)
        ways_over(m->ways, x.sent, r->ns);
    if (x.posted != NULL)
        x.posted->end_ns = r->ns;
    return rc == 0 && (x.sent != NULL || x.posted != NULL) ? add_entry(&p->handles, &x, e) : rc;
}

/* Of one handle the libraries give to several that are complete at once, all but one are sends: they go first in, first out. */
static int completed(struct emu_messages *m, const struct emu_record *r, struct thread *t,
                     struct rt_error *e)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    struct process *p = &m->processes[process];
    int32_t source = (int32_t)(uint32_t)r->event.b;
    bool cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    struct posted *posted = NULL;
    t->matched = NULL;
    if (r->event.a == 0) {
        struct frame *f = t->depth > 0 ? &t->frames[t->depth - 1] : NULL;
        if (f != NULL && f->posted != NULL) {
            posted = f->posted;
            f->posted = NULL;
        }
    } else {
        struct entry **at = find_entry(&p->handles, ACTIVE, r->event.a);
        if (at == NULL || cut)
            return 0;
        struct entry x = take_entry(at);
        posted = x.posted;
        if (x.sent != NULL)
            ways_settle(m->ways, x.sent, false);
    }
    if (posted == NULL || source == NOBODY)
        return 0;
    if (source == PROC_NULL)
        return never(m, process, posted, r->ns, e);
    if (r->ns >= p->whole)
        return 0;
    posted->source = source;
    posted->tag = (int32_t)(r->event.b >> 32);
    posted->received_ns = r->ns;
    t->matched = posted;
    return 0;
}

static int cancelled(struct emu_messages *m, const struct emu_record *r, struct rt_error *e)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    struct entry **at = find_entry(&m->processes[process].handles, ACTIVE, r->event.a);
    if (at == NULL)
        return 0;
    struct entry x = take_entry(at);
    if (x.sent != NULL)
        ways_settle(m->ways, x.sent, true);
    return never(m, process, x.posted, r->ns, e);
}

static int take_bytes(struct emu_messages *m, const struct emu_record *r, struct thread *t,
                      struct rt_error *e)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    struct posted *posted = t->matched;
    if (posted == NULL)
        return 0;
    t->matched = NULL;
    posted->bytes = r->event.b;
    posted_match(&m->processes[process].posted, posted);
    return go_on(m, process, r->ns, e);
}

static void take_message(struct emu_messages *m, const struct emu_record *r, struct thread *t)
{
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    struct entry **at = find_entry(&m->processes[process].handles, MESSAGE, r->event.a);
    if (at != NULL && t->depth > 0)
        t->frames[t->depth - 1].posted = take_entry(at).posted;
}

int emu_messages_take(struct emu_messages *m, const struct emu_record *r, struct rt_error *e)
{
    struct thread *t = &m->threads[r->stream];
    uint32_t process = emu_comms_process_of(m->comms, r->stream);
    if (EVENT_IS_MPI_ENTER(r->event.code))
        return enter(m, r, t, e);
    if (EVENT_IS_MPI_LEAVE(r->event.code))
        return leave(m, r, t, e);
    switch (r->event.code) {
    case EV_MPI_READY:
        m->processes[process].is_known = true;
        if (t->came_up && r->event.window >= 0)
            m->processes[process].whole =
                emu_whole_until(emu_comms_file(m->comms, process), r->event.thread, r->event.window,
                                (int)(r->event.b & 0xff));
        return 0;
    case EV_MPI_STARTED: return started(m, r, t, e);
    case EV_MPI_COMPLETE: return completed(m, r, t, e);
    case EV_MPI_BYTES: return take_bytes(m, r, t, e);
    case EV_MPI_CANCELLED: return cancelled(m, r, e);
    case EV_MPI_MESSAGE: take_message(m, r, t); return 0;
    default: return 0;
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------------------------------ */

int emu_messages_open(struct emu_messages **messages, const struct emu_streams *streams,
                      const struct emu_comms *comms,
                      void (*found)(void *context, const struct emu_message *m), void *context,
                      struct rt_error *e)
{
    struct emu_messages *m = calloc(1, sizeof *m);
    uint32_t n;
    (void)emu_streams_all(streams, &n);
    *messages = NULL;
    if (m == NULL)
        return no_memory(e);
    m->comms = comms;
    m->found = found;
    m->context = context;
    m->ways = ways_open(tell, m, &m->left);
    m->processes = calloc((size_t)emu_comms_processes(comms) + 1, sizeof *m->processes);
    m->threads = calloc((size_t)n + 1, sizeof *m->threads);
    m->does = calloc((size_t)event_mpi_functions + 1, sizeof *m->does);
    if (m->ways == NULL || m->processes == NULL || m->threads == NULL || m->does == NULL) {
        emu_messages_close(m);
        return no_memory(e);
    }
    for (uint32_t i = 0; i < emu_comms_processes(comms); i++)
        m->processes[i].whole = INT64_MIN;
    for (uint32_t i = 0; i < event_mpi_functions; i++)
        m->does[i] = message_function(event_mpi_name(i));
    *messages = m;
    return 0;
}

static bool is_whole(const void *context, uint32_t sender)
{
    const struct emu_messages *m = context;
    return m->processes[sender].whole == INT64_MAX;
}

int emu_messages_end(struct emu_messages *m, struct emu_unmatched *left, struct rt_error *e)
{
    (void)e;
    ways_settle_all(m->ways, is_whole, m);
    ways_end(m->ways);
    for (uint32_t i = 0; i < emu_comms_processes(m->comms); i++)
        for (const struct posted *p = m->processes[i].posted.first; p != NULL; p = p->next)
            m->left.receives[EMU_UNFINISHED]++;
    *left = m->left;
    return 0;
}

void emu_messages_close(struct emu_messages *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; m->processes != NULL && i < emu_comms_processes(m->comms); i++) {
        posted_free(&m->processes[i].posted);
        handles_free(&m->processes[i].handles);
    }
    ways_close(m->ways);
    free(m->processes);
    free(m->threads);
    free(m->does);
    free(m);
}
