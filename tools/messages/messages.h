/* SPDX-License-Identifier: BSD-3-Clause
 * Which send is received by which receive, over all ranks of a run.
 *
 * The rule is MPI's (MPI-3.1, 3.5): messages of one communicator, sender, receiver and tag do not overtake each other, so the k-th that is sent is
 * the k-th that is received, receives counted in the order in which they were posted. That holds from MPI_Init on for as long as both
 * processes recorded everything: what they did outside windows, or lost, may have been a send or a receive. From there on nothing of that
 * process is matched; nor is what two threads did at once on one such way, of which nobody knows the order. All that is left is counted
 * by reason. Windows of processes that have not recorded all are looked at by another rule (likely.h), and what it finds is marked as likely. Both
 * sides wait for each other, as clocks of nodes may be off; memory is that of what is open.
 *
 * Not matched: partitioned messages, and those on communicators whose identity is not known (share/doc/schema.md). */
#ifndef REGTRACE_TOOLS_MESSAGES_MESSAGES_H
#define REGTRACE_TOOLS_MESSAGES_MESSAGES_H

#include "tools/messages/comms.h"
#include "tools/streams/streams.h"

/* Times in ns as in streams.h. */
struct emu_message {
    uint32_t send_stream, receive_stream;
    int64_t send_ns, sent_ns; /* its call (MPI_Start of persistent ones) begins, ends */
    int64_t receive_ns;       /* the call that posts it, or the matched probe, begins */
    int64_t received_ns;      /* it is complete */
    uint64_t bytes;
    int32_t tag, sender, receiver; /* ranks of MPI_COMM_WORLD */
    uint32_t comm;                 /* of emu_comms_all() */
    bool likely;                   /* not sure (likely.h) */
};

/* Why a send or a receive has no partner. */
enum emu_unmatched_reason {
    EMU_OUTSIDE, /* made when its process had already been outside windows, or had lost something */
    EMU_ALONE,   /* its partner is not there: outside windows, lost, or not in this run */
    EMU_UNIDENTIFIED, /* its communicator is not known on all ranks by the same number, or the request not at all */
    EMU_CONCURRENT, /* threads of a process did the same at once: their order is not known */
    EMU_UNLIKE, /* as many bytes as the partner's, which the order gives, it has not; nor have those behind it a partner */
    EMU_UNFINISHED, /* not complete in the recording, or behind a receive that is not and may have taken its message */
    EMU_PARTITIONED, /* MPI_Psend_init, MPI_Precv_init: each request that was made */
    EMU_REASONS
};
struct emu_unmatched {
    uint64_t sends[EMU_REASONS], receives[EMU_REASONS];
};
const char *emu_unmatched_text(enum emu_unmatched_reason why);

/* Which messages are told: "likely" (all, the default), "sure" or "none". False: it is none of these. For all that are opened from now on. */
RT_MUST_CHECK bool emu_messages_choose(const char *which);

struct emu_messages;

/* found: is told each message once, as soon as it is sure; those of one way (communicator, ranks, tag) in the order in which they were sent. comms,
 * streams: for as long as the messages. 0 or -ENOMEM. */
RT_MUST_CHECK int emu_messages_open(struct emu_messages **messages,
                                    const struct emu_streams *streams,
                                    const struct emu_comms *comms,
                                    void (*found)(void *context, const struct emu_message *m),
                                    void *context, struct rt_error *e);
/* Every record, in the order of emu_streams_next(). 0 or -ENOMEM. */
RT_MUST_CHECK int emu_messages_take(struct emu_messages *m, const struct emu_record *r,
                                    struct rt_error *e);
/* There is no record any more: the last are told, and what is left is counted. Once. */
RT_MUST_CHECK int emu_messages_end(struct emu_messages *m, struct emu_unmatched *left,
                                   struct rt_error *e);
void emu_messages_close(struct emu_messages *m);

#endif
