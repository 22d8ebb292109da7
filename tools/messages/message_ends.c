/* SPDX-License-Identifier: BSD-3-Clause
 * Passes sends and receives on to the certain queues (queues.h) or to the likely ones
 * (likely_messages.h), or counts them. */
#include "tools/messages/message_ends.h"

#include "base/format/event_fields.h"
#include "tools/messages/message_functions.h"

#include <errno.h>
#include <stdlib.h>

enum { COMM_MANY = 0xffff };
#define SECOND INT64_C(1000000000) /* clocks of nodes are off by less */

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

/* Reports a message; fills in what its queue determines. */
static void tell(const struct messages *m, const struct queue_key *key, struct message what)
{
    what.tag = key->tag;
    what.sender = comms_world_rank(m->comms, key->sender);
    what.receiver = comms_world_rank(m->comms, key->receiver);
    what.comm = key->comm;
    m->found(m->context, &what);
}

void ends_found(void *context, const struct queue_key *key, const struct sent *s,
                const struct received *r)
{
    tell(context, key,
         (struct message){.send_stream = s->stream,
                          .receive_stream = r->stream,
                          .send_ns = s->ns,
                          .sent_ns = s->end_ns,
                          .receive_ns = r->ns,
                          .received_ns = r->received_ns,
                          .bytes = s->bytes});
}

void ends_found_likely(void *context, const struct queue_key *key, const struct likely_send *s,
                       const struct likely_receive *r)
{
    tell(context, key,
         (struct message){.send_stream = s->stream,
                          .receive_stream = r->stream,
                          .send_ns = s->ns,
                          .sent_ns = s->end_ns == INT64_MAX ? r->received_ns : s->end_ns,
                          .receive_ns = r->ns,
                          .received_ns = r->received_ns,
                          .bytes = s->bytes,
                          .likely = true});
}

/* Returns the process of a rank that is a peer of `process`. */
static uint32_t peer_of(const struct messages *m, uint32_t process, uint32_t comm, int32_t rank)
{
    uint32_t count;
    const struct comm *c = &comms_all(m->comms, &count)[comm];
    for (uint32_t side = 0; c->sides == 2 && side < 2; side++)
        for (uint32_t i = 0; i < c->size[side]; i++)
            if (comms_process(m->comms, comm, side, (int32_t)i) == process)
                return comms_process(m->comms, comm, side ^ 1, rank);
    return comms_process(m->comms, comm, 0, rank);
}

/* Returns the communicator, or NO_COMM if it is not known. If the process had run out of numbers
 * (COMM_MANY), the call may be on any communicator: from `ns` on no message of this process is
 * certain. */
static uint32_t comm_of(struct messages *m, uint32_t process, uint64_t b, int64_t ns)
{
    uint32_t id = (uint32_t)EV_MPI_ENTER_comm(0, b), side;
    if (id == COMM_MANY) {
        likely_spoil(m->likely, process);
        if (m->processes[process].whole > ns)
            m->processes[process].whole = ns;
    }
    return id != 0 && id != COMM_MANY ? comms_find(m->comms, process, id, &side) : NO_COMM;
}

/* Returns whether all sends and receives of that process that can be certain have come by `now`. */
static bool is_past(const struct messages *m, uint32_t process, int64_t now)
{
    int64_t whole = m->processes[process].whole;
    return m->processes[process].is_known && whole < INT64_MAX - SECOND && now > whole + SECOND;
}

int ends_send(struct messages *m, const struct stream_record *r, int64_t ns, uint64_t a, uint64_t b,
              unsigned does, struct kept_send *out, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    int32_t peer = (int32_t)EV_MPI_ENTER_peer(a, b);
    *out = (struct kept_send){NULL, 0};
    if (peer == PROC_NULL)
        return 0;
    uint32_t comm = comm_of(m, process, b, ns);
    m->processes[process].is_known = true;
    if (comm == NO_COMM) {
        m->left.sends[UNMATCHED_UNIDENTIFIED]++;
        return 0;
    }
    struct queue_key key = {comm, process, peer_of(m, process, comm, peer),
                            (int32_t)EV_MPI_ENTER_tag(a, b)};
    const uint64_t bytes = EV_MPI_ENTER_bytes(a, b);
    const bool outside = ns >= m->processes[process].whole, alone = key.receiver == NO_PROCESS;
    if (outside || alone ||
        (is_past(m, key.receiver, ns) && !queues_expects(m->queues, &key, false))) {
        enum unmatched_reason why = outside && !alone ? UNMATCHED_OUTSIDE : UNMATCHED_ALONE;
        const struct likely_send s = {.key = key,
                                      .flags =
                                          (uint8_t)(((does & AT_ONCE) != 0) * LIKELY_SYNCHRONOUS |
                                                    ((does & BUFFERS) != 0) * LIKELY_BUFFERED),
                                      .why = (uint8_t)why,
                                      .stream = r->stream,
                                      .ns = ns,
                                      .end_ns = INT64_MAX,
                                      .done_ns = INT64_MAX,
                                      .bytes = bytes};
        /* Stores a send even if its receiver is unknown. Otherwise the stretch would not be fully
         * known (likely_spoil()), and its other messages could not be matched. */
        if (likely_is_open(m->likely, process, r->stream))
            out->likely = likely_add_send(m->likely, process, &s);
        if (out->likely == 0) {
            likely_spoil(m->likely, process);
            m->left.sends[why]++;
        }
        return 0;
    }
    out->sent = queues_send(
        m->queues, &key,
        &(struct sent){.ns = ns, .end_ns = INT64_MAX, .bytes = bytes, .stream = r->stream});
    return out->sent != NULL ? 0 : no_memory(e);
}

int ends_post(struct messages *m, const struct stream_record *r, int64_t ns, uint64_t a, uint64_t b,
              unsigned does, struct posted **out, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct message_process *p = &m->processes[process];
    bool untold = (does & UNTOLD) != 0;
    if (!untold && (int32_t)EV_MPI_ENTER_peer(a, b) == PROC_NULL)
        return 0;
    uint32_t comm = comm_of(m, process, b, ns);
    p->is_known = true;
    bool windowed = ns >= p->whole && likely_is_open(m->likely, process, r->stream);
    if (comm == NO_COMM || (ns >= p->whole && !windowed)) {
        if (!untold) /* its source may be MPI_PROC_NULL */
            m->left.receives[comm == NO_COMM ? UNMATCHED_UNIDENTIFIED : UNMATCHED_OUTSIDE]++;
        return 0;
    }
    *out = posted_add(
        windowed ? &p->windowed : &p->posted,
        &(struct posted){.comm = comm,
                         .stream = r->stream,
                         .source = untold ? POSTED_ANY : (int32_t)EV_MPI_ENTER_peer(a, b),
                         .tag = untold ? POSTED_ANY : (int32_t)EV_MPI_ENTER_tag(a, b),
                         .ns = ns,
                         .end_ns = INT64_MAX,
                         .windowed = windowed,
                         .untold = untold,
                         .probed = (does & PROBES) != 0});
    return *out != NULL ? 0 : no_memory(e);
}

void ends_over(struct messages *m, uint32_t process, struct kept_send s, int64_t ns)
{
    struct likely_send *likely = likely_sent(m->likely, process, s.likely);
    if (s.sent != NULL)
        queues_over(m->queues, s.sent, ns);
    if (likely != NULL)
        likely->end_ns = ns;
}

void ends_settle(struct messages *m, uint32_t process, struct kept_send s, int64_t ns, bool dropped)
{
    struct likely_send *likely = likely_sent(m->likely, process, s.likely);
    if (s.sent != NULL)
        queues_settle(m->queues, s.sent, dropped);
    if (likely != NULL && dropped)
        likely->dropped = true;
    else if (likely != NULL)
        likely->done_ns = ns;
}

/* Stores a receive whose partner is likely at best, or counts it. */
static void take_likely(struct messages *m, uint32_t process, const struct queue_key *key,
                        const struct posted *p, enum unmatched_reason why)
{
    const struct likely_receive r = {.key = *key,
                                     .stream = p->stream,
                                     .wait = p->probed ? 0 : p->wait,
                                     .why = (uint8_t)why,
                                     .ns = p->ns,
                                     .received_ns = p->received_ns,
                                     .bytes = p->bytes,
                                     .room = p->room};
    if (likely_is_open(m->likely, process, p->stream) && likely_add_receive(m->likely, process, &r))
        return;
    likely_spoil(m->likely, process);
    m->left.receives[why]++;
}

static int pass_on(struct messages *m, uint32_t process, const struct posted *p, int64_t now,
                   struct rt_error *e)
{
    struct queue_key key = {p->comm, peer_of(m, process, p->comm, p->source), process, p->tag};
    const bool alone = key.sender == NO_PROCESS;
    if (p->windowed || alone ||
        (is_past(m, key.sender, now) && !queues_expects(m->queues, &key, true))) {
        take_likely(m, process, &key, p,
                    p->windowed && !alone ? UNMATCHED_OUTSIDE : UNMATCHED_ALONE);
        return 0;
    }
    return queues_receive(m->queues, &key,
                          &(struct received){.ns = p->ns,
                                             .received_ns = p->received_ns,
                                             .bytes = p->bytes,
                                             .room = p->room,
                                             .stream = p->stream,
                                             .concurrent = p->concurrent}) == 0
               ? 0
               : no_memory(e);
}

static int go_on(struct messages *m, uint32_t process, struct posted_list *list, int64_t now,
                 struct rt_error *e)
{
    struct posted *p;
    int rc = 0;
    while (rc == 0 && (p = posted_next(list)) != NULL) {
        rc = pass_on(m, process, p, now, e);
        free(p);
    }
    return rc;
}

static struct posted_list *list_of(struct messages *m, uint32_t process, const struct posted *p)
{
    return p->windowed ? &m->processes[process].windowed : &m->processes[process].posted;
}

int ends_match(struct messages *m, uint32_t process, struct posted *p, int64_t now,
               struct rt_error *e)
{
    struct posted_list *list = list_of(m, process, p);
    posted_match(list, p);
    return go_on(m, process, list, now, e);
}

int ends_never(struct messages *m, uint32_t process, struct posted *p, int64_t now,
               struct rt_error *e)
{
    if (p == NULL)
        return 0;
    struct posted_list *list = list_of(m, process, p);
    posted_remove(list, p);
    return go_on(m, process, list, now, e);
}

/* Must the entry go when its window ends? Completions after the window are not known, nor which
 * handles the library reuses. */
static bool is_of_window(const void *context, const struct handle_entry *x)
{
    const bool *partly = context;
    return x->likely != 0 || (x->posted != NULL && x->posted->windowed) ||
           (*partly && x->kind == PARAMETERS);
}

void ends_window(struct messages *m, const struct stream_record *r)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct message_process *p = &m->processes[process];
    struct message_thread *t = &m->threads[r->stream];
    const bool partly = r->ns >= p->whole;
    handles_forget(&p->handles, is_of_window, &partly);
    for (uint32_t i = 0; i < t->depth; i++) {
        t->frames[i].sent.likely = t->frames[i].wait = 0;
        if (t->frames[i].posted != NULL && t->frames[i].posted->windowed)
            t->frames[i].posted = NULL;
    }
    if (t->matched != NULL && t->matched->windowed)
        t->matched = NULL;
    for (const struct posted *x = p->windowed.first; x != NULL; x = x->next)
        m->left.receives[UNMATCHED_OUTSIDE] += x->matched || !x->untold;
    posted_free(&p->windowed);
}
