/* SPDX-License-Identifier: BSD-3-Clause
 * Counts sends and receives without a partner, and tells them. */
#include "tools/messages/message_ends.h"

const char *unmatched_text(enum unmatched_reason why)
{
    static const char *const texts[UNMATCHED_REASONS] = {
        [UNMATCHED_ALONE] = "the partner is outside windows or not in the recording",
        [UNMATCHED_UNIDENTIFIED] = "the communicator or the request is not known",
        [UNMATCHED_CONCURRENT] = "threads did the same at once",
        [UNMATCHED_UNLIKE] = "sizes of send and receive differ",
        [UNMATCHED_UNFINISHED] = "not complete in the recording",
        [UNMATCHED_UNNUMBERED] = "without a number",
    };
    return texts[why];
}

void messages_tell_unmatched(struct messages *m,
                             void (*lone)(void *context, const struct unmatched_end *x))
{
    m->lone = lone;
}

static int32_t rank_of(const struct messages *m, uint32_t process, int32_t absent)
{
    return process != NO_PROCESS ? comms_world_rank(m->comms, process) : absent;
}

void ends_leave(struct messages *m, const struct message_end *x, enum unmatched_reason why)
{
    const struct message_identity *k = &x->identity;
    (x->is_send ? m->left.sends : m->left.receives)[why]++;
    if (m->lone == NULL)
        return;
    m->lone(m->context, &(struct unmatched_end){.is_send = x->is_send,
                                                .why = why,
                                                .stream = x->stream,
                                                .window = x->window,
                                                .ns = x->ns,
                                                .bytes = x->bytes != BYTES_UNKNOWN ? x->bytes : 0,
                                                .sender = rank_of(m, k->sender, x->absent),
                                                .receiver = rank_of(m, k->receiver, x->absent),
                                                .tag = k->tag});
}

static void leave_alone(void *context, const struct message_end *x)
{
    ends_leave(context, x, UNMATCHED_ALONE);
}

void ends_leave_rest(struct messages *m)
{
    waiting_each(m->waiting, leave_alone, m);
    for (uint32_t i = 0; i < m->thread_count; i++)
        for (uint32_t d = 0; d < m->threads[i].depth; d++)
            if (m->threads[i].frames[d].sends)
                ends_leave(m, &m->threads[i].frames[d].send, UNMATCHED_UNFINISHED);
    for (uint32_t i = 0; i < comms_processes(m->comms); i++) {
        for (const struct posted *p = m->processes[i].posted.first; p != NULL; p = p->next)
            if (p->matched || !p->untold)
                ends_leave_receive(m, i, p, UNMATCHED_UNFINISHED);
        for (const struct later *l = m->processes[i].later; l != NULL; l = l->next)
            if (!l->told)
                ends_leave(m, &l->end, UNMATCHED_UNNUMBERED);
    }
}
