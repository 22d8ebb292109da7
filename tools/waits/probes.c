/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps a thread's last calls of MPI_Probe. */
#include "tools/waits/probes.h"

#include "base/format/event_fields.h"

void probes_clear(struct probes *p)
{
    for (uint32_t i = 0; i < PROBES_MOST; i++)
        p->last[i].comm = NO_COMM;
}

void probes_add(struct probes *p, const struct comms *comms, const struct stream_record *r)
{
    uint32_t count, side, process = comms_process_of(comms, r->stream);
    uint32_t id = (uint32_t)EVENT_GET(&r->event, EV_MPI_ENTER, comm);
    uint32_t comm = comms_find(comms, process, id, &side);
    int32_t source = (int32_t)EVENT_GET(&r->event, EV_MPI_ENTER, peer);
    if (comm == NO_COMM)
        return;
    if (source != PROBE_ANY) {
        uint32_t of = comms_all(comms, &count)[comm].sides == 2 ? side ^ 1 : side;
        uint32_t sender = comms_process(comms, comm, of, source);
        if (sender == NO_PROCESS)
            return;
        source = comms_world_rank(comms, sender);
    }
    p->last[p->next++ % PROBES_MOST] =
        (struct probe){.begin = r->ns,
                       .comm = comm,
                       .source = source,
                       .tag = (int32_t)EVENT_GET(&r->event, EV_MPI_ENTER, tag),
                       .receive_ns = INT64_MAX};
}

const struct probe *probes_find(struct probes *p, const struct message *m, uint32_t *i)
{
    while (*i < PROBES_MOST) {
        struct probe *x = &p->last[(*i)++];
        /* Messages come in the order of completion: an earlier receive may follow. */
        if (x->comm != m->comm || m->receive_ns < x->begin || m->receive_ns >= x->receive_ns ||
            (x->source != PROBE_ANY && x->source != m->sender) ||
            (x->tag != PROBE_ANY && x->tag != m->tag))
            continue;
        x->receive_ns = m->receive_ns;
        return x;
    }
    return NULL;
}
