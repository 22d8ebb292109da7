/* SPDX-License-Identifier: BSD-3-Clause
 * Gives sends and receives their identities, and passes on messages whose two ends are there. */
#include "tools/messages/message_ends.h"

#include "base/format/event_fields.h"
#include "tools/messages/message_functions.h"

#include <errno.h>
#include <stdlib.h>

enum { COMM_WORLD = 1, COMM_MANY = 0xffff }; /* ids in /comms */

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
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
 * (COMM_MANY), the call may be on any communicator: without numbers, no later message of this
 * process is certain. */
static uint32_t comm_of(struct messages *m, uint32_t process, uint32_t id, int64_t ns)
{
    uint32_t side;
    if (id == COMM_MANY && m->processes[process].whole > ns)
        m->processes[process].whole = ns;
    return id != 0 && id != COMM_MANY ? comms_find(m->comms, process, id, &side) : NO_COMM;
}

/* The counter of messages of a process without numbers; `peer` is a process. These readers come
 * after the streams. */
static struct number_key counter_of(const struct messages *m, uint32_t process, uint32_t comm,
                                    uint32_t peer, int32_t tag, enum number_kind kind)
{
    return (struct number_key){m->thread_count + process, comm, (int32_t)peer, tag, kind};
}

/* --- messages --------------------------------------------------------------------------------- */

/* Do the sizes contradict each other? */
static bool are_unlike(const struct message_end *s, const struct message_end *r)
{
    if (s->bytes == 0)
        return false;
    return r->bytes == BYTES_UNKNOWN ? s->bytes > r->room : s->bytes != r->bytes;
}

static void tell(const struct messages *m, const struct message_end *s, const struct message_end *r)
{
    const struct message_identity *k = &s->identity;
    const bool known = r->bytes != BYTES_UNKNOWN && s->bytes == 0;
    m->found(m->context, &(struct message){.send_stream = s->stream,
                                           .receive_stream = r->stream,
                                           .received_stream = r->end_stream,
                                           .send_ns = s->ns,
                                           .sent_ns = s->end_ns,
                                           .receive_ns = r->ns,
                                           .received_ns = r->end_ns,
                                           .bytes = known ? r->bytes : s->bytes,
                                           .tag = k->tag,
                                           .sender = comms_world_rank(m->comms, k->sender),
                                           .receiver = comms_world_rank(m->comms, k->receiver),
                                           .comm = k->comm,
                                           .send_window = s->window,
                                           .receive_window = r->window});
}

static int meet(struct messages *m, const struct message_end *x, struct rt_error *e)
{
    struct message_end other;
    bool met;
    if (waiting_meet(m->waiting, x, &other, &met) != 0)
        return no_memory(e);
    if (!met)
        return 0;
    const struct message_end *s = x->is_send ? x : &other, *r = x->is_send ? &other : x;
    enum unmatched_reason why = s->concurrent || r->concurrent ? UNMATCHED_CONCURRENT
                                : are_unlike(s, r)             ? UNMATCHED_UNLIKE
                                                               : UNMATCHED_REASONS;
    if (why == UNMATCHED_REASONS) {
        tell(m, s, r);
    } else {
        ends_leave(m, s, why);
        ends_leave(m, r, why);
    }
    return 0;
}

/* --- sends ------------------------------------------------------------------------------------ */

/* Marks this send and those of other threads that are under way for the same key: their order is
 * not known. */
static void mark_concurrent_sends(struct messages *m, uint32_t process, struct message_end *s)
{
    uint32_t i = m->processes[process].first_thread;
    for (; i != UINT32_MAX; i = m->threads[i].next) {
        struct message_thread *t = &m->threads[i];
        for (uint32_t d = 0; i != s->stream && d < t->depth; d++) {
            struct message_end *o = &t->frames[d].send;
            if (t->frames[d].sends && o->identity.comm == s->identity.comm &&
                o->identity.receiver == s->identity.receiver && o->identity.tag == s->identity.tag)
                o->concurrent = s->concurrent = true;
        }
    }
}

/* Does the event before tell the number of a partitioned message? */
static bool is_told_partitioned(const struct message_thread *t, uint64_t *number)
{
    *number = t->told ? EVENT_GET(&t->number, EV_MPI_SEND_NUMBER, number) : 0;
    return event_is_partitioned(*number);
}

/* Returns the number of the send in *number; *numbered false: it has none. */
static int number_send(struct messages *m, const struct stream_record *r, int64_t ns,
                       const struct number_key *key, uint32_t comm, uint32_t receiver,
                       unsigned does, bool *numbered, uint64_t *number, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    const struct message_process *p = &m->processes[process];
    const struct number_key counter =
        counter_of(m, process, comm, receiver, key->tag, NUMBER_OF_SEND);
    const struct message_thread *t = &m->threads[r->stream];
    *numbered = is_told_partitioned(t, number);
    if (*numbered || (does & PARTITIONED) != 0)
        return 0;
    bool none = t->told && EVENT_GET(&t->number, EV_MPI_SEND_NUMBER, comm) == 0;
    *numbered = p->is_numbered ? !none && numbers_take(m->numbers, key, number) : ns < p->whole;
    if (p->is_numbered || !*numbered)
        return 0;
    if (numbers_count(m->numbers, &counter, number) != 0)
        return no_memory(e);
    *numbered = *number != EVENT_NO_NUMBER;
    return 0;
}

int ends_send(struct messages *m, const struct stream_record *r, int64_t ns, uint64_t a, uint64_t b,
              unsigned does, struct message_end *out, bool *sends, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    const struct number_key key = {r->stream, (uint32_t)EV_MPI_ENTER_comm(a, b),
                                   (int32_t)EV_MPI_ENTER_peer(a, b),
                                   (int32_t)EV_MPI_ENTER_tag(a, b), NUMBER_OF_SEND};
    uint64_t number = 0;
    bool numbered = false;
    *sends = false;
    if (key.peer == PROC_NULL)
        return 0;
    uint32_t comm = comm_of(m, process, key.comm, ns);
    uint32_t receiver = comm != NO_COMM ? peer_of(m, process, comm, key.peer) : NO_PROCESS;
    if (number_send(m, r, ns, &key, comm, receiver, does, &numbered, &number, e) != 0)
        return -ENOMEM;
    *out = (struct message_end){.identity = {comm, process, receiver, key.tag, number},
                                .is_send = true,
                                .stream = r->stream,
                                .window = r->event.window,
                                .absent = key.comm == COMM_WORLD ? key.peer : -1,
                                .ns = ns,
                                .bytes = EV_MPI_ENTER_bytes(a, b)};
    if (comm == NO_COMM || !numbered || receiver == NO_PROCESS) {
        ends_leave(m, out,
                   comm == NO_COMM          ? UNMATCHED_UNIDENTIFIED
                   : receiver == NO_PROCESS ? UNMATCHED_ALONE
                                            : UNMATCHED_UNNUMBERED);
        return 0;
    }
    (void)waiting_remove_send(m->waiting, &out->identity, NULL); /* a call that had failed */
    if (m->processes[process].is_multithreaded && !event_is_partitioned(number))
        mark_concurrent_sends(m, process, out);
    *sends = true;
    return 0;
}

int ends_sent(struct messages *m, struct message_end *send, int64_t ns, struct rt_error *e)
{
    send->end_ns = ns;
    return meet(m, send, e);
}

int ends_cancelling(struct messages *m, uint32_t process, uint64_t request, int64_t ns,
                    struct rt_error *e)
{
    struct handle_entry **at = handles_find(&m->processes[process].handles, ACTIVE, request, ns);
    if (at == NULL || !(*at)->sends)
        return 0;
    const struct message_identity *k = &(*at)->sent;
    const struct number_key counter =
        counter_of(m, process, k->comm, k->receiver, k->tag, NUMBER_OF_SEND);
    struct message_end send;
    if (waiting_remove_send(m->waiting, k, &send))
        ends_leave(m, &send, UNMATCHED_UNFINISHED);
    (*at)->sends = false;
    return numbers_set(m->numbers, &counter, EVENT_NO_NUMBER) == 0 ? 0 : no_memory(e);
}

/* --- receives --------------------------------------------------------------------------------- */

static bool may_share(const struct posted *a, const struct posted *b)
{
    return a->comm == b->comm &&
           (a->source == POSTED_ANY || b->source == POSTED_ANY || a->source == b->source) &&
           (a->tag == POSTED_ANY || b->tag == POSTED_ANY || a->tag == b->tag);
}

/* The same for receives that two threads post at the same time. For two calls that block, the keys
 * of both are known only at their ends (hold()). */
static void mark_concurrent_receives(struct messages *m, uint32_t process, struct posted *p)
{
    const struct message_thread *own = &m->threads[p->stream];
    const bool blocks = own->depth < FRAMES && own->frames[own->depth].blocks;
    uint32_t i = m->processes[process].first_thread;
    for (; i != UINT32_MAX; i = m->threads[i].next) {
        struct message_thread *t = &m->threads[i];
        for (uint32_t d = 0; i != p->stream && d < t->depth; d++)
            if (t->frames[d].posted != NULL && !(blocks && t->frames[d].blocks) &&
                may_share(t->frames[d].posted, p))
                t->frames[d].posted->concurrent = p->concurrent = true;
    }
}

/* Is a call of another thread open that began before this receive was complete, and may receive the
 * same? */
static bool has_rival(const struct messages *m, uint32_t process, const struct posted *p)
{
    uint32_t i = m->processes[process].first_thread;
    for (; i != UINT32_MAX; i = m->threads[i].next) {
        const struct message_thread *t = &m->threads[i];
        for (uint32_t d = 0; i != p->stream && d < t->depth; d++) {
            const struct posted *q = t->frames[d].posted;
            if (q != NULL && t->frames[d].blocks && q->ns < p->received_ns && may_share(q, p))
                return true;
        }
    }
    return false;
}

static int post(struct messages *m, uint32_t process, const struct posted *what,
                struct posted **out, struct rt_error *e)
{
    struct message_process *p = &m->processes[process];
    *out = posted_add(&p->posted, what);
    if (*out == NULL)
        return no_memory(e);
    if (p->is_numbered && p->is_multithreaded && !what->partitioned)
        mark_concurrent_receives(m, process, *out);
    return 0;
}

int ends_post(struct messages *m, const struct stream_record *r, int64_t ns, uint64_t a, uint64_t b,
              unsigned does, struct posted **out, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    const struct message_process *p = &m->processes[process];
    bool untold = (does & UNTOLD) != 0;
    *out = NULL;
    if (!untold && (int32_t)EV_MPI_ENTER_peer(a, b) == PROC_NULL)
        return 0;
    uint32_t id = (uint32_t)EV_MPI_ENTER_comm(a, b), comm = comm_of(m, process, id, ns);
    const struct posted what = {.comm = comm,
                                .comm_id = id,
                                .stream = r->stream,
                                .window = r->event.window,
                                .source = untold ? POSTED_ANY : (int32_t)EV_MPI_ENTER_peer(a, b),
                                .tag = untold ? POSTED_ANY : (int32_t)EV_MPI_ENTER_tag(a, b),
                                .ns = ns,
                                .end_ns = INT64_MAX,
                                .untold = untold,
                                .partitioned = (does & PARTITIONED) != 0};
    if (comm != NO_COMM && (p->is_numbered || (ns < p->whole && !what.partitioned)))
        return post(m, process, &what, out, e);
    /* Its source may be MPI_PROC_NULL, or a probe may find nothing. */
    if (!untold && (does & PROBES) == 0)
        ends_leave_receive(m, process, &what,
                           comm == NO_COMM ? UNMATCHED_UNIDENTIFIED : UNMATCHED_UNNUMBERED);
    return 0;
}

int ends_post_unseen(struct messages *m, const struct stream_record *r, int64_t ns,
                     struct posted **out, struct rt_error *e)
{
    uint32_t process = comms_process_of(m->comms, r->stream);
    const struct rt_event *number = &m->threads[r->stream].number;
    uint32_t id = (uint32_t)EVENT_GET(number, EV_MPI_RECEIVE_NUMBER, comm);
    uint32_t comm = comm_of(m, process, id, ns);
    uint64_t told;
    *out = NULL;
    const struct posted what = {.comm = comm,
                                .comm_id = id,
                                .stream = r->stream,
                                .window = r->event.window,
                                .source = (int32_t)EVENT_GET(number, EV_MPI_RECEIVE_NUMBER, source),
                                .tag = (int32_t)EVENT_GET(number, EV_MPI_RECEIVE_NUMBER, tag),
                                .ns = ns,
                                .end_ns = ns,
                                .room = UINT64_MAX,
                                .partitioned = is_told_partitioned(&m->threads[r->stream], &told)};
    if (comm != NO_COMM)
        return post(m, process, &what, out, e);
    ends_leave_receive(m, process, &what, UNMATCHED_UNIDENTIFIED);
    return 0;
}

void ends_number(struct messages *m, const struct stream_record *r, struct posted *p)
{
    struct message_thread *t = &m->threads[r->stream];
    uint32_t process = comms_process_of(m->comms, r->stream);
    struct number_key key = {r->stream, p->comm_id, p->source, p->tag, NUMBER_OF_RECEIVE};
    if (!m->processes[process].is_numbered)
        return; /* it gets its number when no receive before it can take its message */
    if (p->partitioned) {
        p->has_number = is_told_partitioned(t, &p->number);
        return;
    }
    p->later = t->told && EVENT_GET(&t->number, EV_MPI_RECEIVE_NUMBER, later) != 0;
    bool none = t->told && EVENT_GET(&t->number, EV_MPI_RECEIVE_NUMBER, comm) == 0;
    if (t->told) { /* the completion itself may not name them */
        key.peer = (int32_t)EVENT_GET(&t->number, EV_MPI_RECEIVE_NUMBER, source);
        key.tag = (int32_t)EVENT_GET(&t->number, EV_MPI_RECEIVE_NUMBER, tag);
    }
    p->has_number = !none && (p->later || numbers_take(m->numbers, &key, &p->number));
    if (p->later)
        p->number = EVENT_GET(&t->number, EV_MPI_RECEIVE_NUMBER, number);
}

static struct message_end end_of(const struct messages *m, uint32_t process, const struct posted *p)
{
    const bool known = p->comm != NO_COMM && p->source >= 0;
    const uint32_t sender = known ? peer_of(m, process, p->comm, p->source) : NO_PROCESS;
    return (struct message_end){.identity = {p->comm, sender, process, p->tag, p->number},
                                .concurrent = p->concurrent,
                                .stream = p->stream,
                                .end_stream = p->received_stream,
                                .window = p->window,
                                .absent =
                                    p->comm_id == COMM_WORLD && p->source >= 0 ? p->source : -1,
                                .ns = p->ns,
                                .end_ns = p->received_ns,
                                .bytes = p->bytes,
                                .room = p->room};
}

/* The number or the receive of a mark has come: if the other is there, the receive has its number
 * now. */
static int meet_later(struct messages *m, uint32_t process, const struct later *what,
                      struct rt_error *e)
{
    struct later **at = &m->processes[process].later;
    while (*at != NULL && (*at)->mark != what->mark)
        at = &(*at)->next;
    if (*at == NULL) {
        struct later *l = malloc(sizeof *l);
        if (l == NULL)
            return no_memory(e);
        *l = *what;
        l->next = m->processes[process].later;
        m->processes[process].later = l;
        return 0;
    }
    struct later *l = *at;
    struct message_end x = what->told ? l->end : what->end;
    x.identity.number = what->told ? what->number : l->number;
    *at = l->next;
    free(l);
    if (x.identity.number != EVENT_NO_NUMBER)
        return meet(m, &x, e);
    ends_leave(m, &x, UNMATCHED_UNNUMBERED);
    return 0;
}

int ends_later(struct messages *m, const struct stream_record *r, struct rt_error *e)
{
    return meet_later(m, comms_process_of(m->comms, r->stream),
                      &(struct later){.mark = EVENT_GET(&r->event, EV_MPI_NUMBER_LATER, mark),
                                      .number = EVENT_GET(&r->event, EV_MPI_NUMBER_LATER, number),
                                      .told = true},
                      e);
}

static int pass_on(struct messages *m, uint32_t process, const struct posted *p, struct rt_error *e)
{
    const struct message_end x = end_of(m, process, p);
    if (x.identity.sender == NO_PROCESS || !p->has_number) {
        ends_leave(m, &x, x.identity.sender == NO_PROCESS ? UNMATCHED_ALONE : UNMATCHED_UNNUMBERED);
        return 0;
    }
    if (p->later)
        return meet_later(m, process, &(struct later){.mark = p->number, .end = x}, e);
    return meet(m, &x, e);
}

/* Numbers the receives of a process without numbers that no earlier receive holds up. */
static int pass_on_in_order(struct messages *m, uint32_t process, struct rt_error *e)
{
    struct posted *p;
    int rc = 0;
    while (rc == 0 && (p = posted_next(&m->processes[process].posted)) != NULL) {
        const struct number_key counter =
            counter_of(m, process, p->comm, peer_of(m, process, p->comm, p->source), p->tag,
                       NUMBER_OF_RECEIVE);
        rc = numbers_count(m->numbers, &counter, &p->number) == 0 ? 0 : no_memory(e);
        p->has_number = true;
        if (rc == 0)
            rc = pass_on(m, process, p, e);
        free(p);
    }
    return rc;
}

int ends_release(struct messages *m, uint32_t process, bool all, struct rt_error *e)
{
    int rc = 0;
    for (struct posted **at = &m->processes[process].held; rc == 0 && *at != NULL;) {
        struct posted *p = *at;
        if (!all && has_rival(m, process, p)) {
            at = &p->next;
            continue;
        }
        rc = pass_on(m, process, p, e);
        *at = p->next;
        free(p);
    }
    return rc;
}

/* Takes a receive of a process with several threads, whose message is here. */
static int hold(struct messages *m, uint32_t process, const struct posted *p, struct rt_error *e)
{
    struct message_process *of = &m->processes[process];
    struct posted *kept = malloc(sizeof *kept);
    if (kept == NULL)
        return no_memory(e);
    *kept = *p;
    for (struct posted *h = of->held; h != NULL; h = h->next)
        if (h->stream != kept->stream && may_share(h, kept) && h->ns < kept->received_ns &&
            kept->ns < h->received_ns)
            h->concurrent = kept->concurrent = true;
    kept->next = of->held;
    of->held = kept;
    return ends_release(m, process, false, e);
}

int ends_match(struct messages *m, uint32_t process, struct posted *p, struct rt_error *e)
{
    struct message_process *of = &m->processes[process];
    if (!of->is_numbered) {
        posted_match(&of->posted, p);
        return pass_on_in_order(m, process, e);
    }
    int rc = of->is_multithreaded && !p->partitioned ? hold(m, process, p, e)
                                                     : pass_on(m, process, p, e);
    posted_remove(&of->posted, p);
    return rc;
}

void ends_leave_receive(struct messages *m, uint32_t process, const struct posted *p,
                        enum unmatched_reason why)
{
    const struct message_end x = end_of(m, process, p);
    ends_leave(m, &x, why);
}

int ends_never(struct messages *m, uint32_t process, struct posted *p, struct rt_error *e)
{
    if (p == NULL)
        return 0;
    struct message_process *of = &m->processes[process];
    posted_remove(&of->posted, p);
    return of->is_numbered ? 0 : pass_on_in_order(m, process, e);
}
