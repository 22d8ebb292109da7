/* SPDX-License-Identifier: BSD-3-Clause
 * Finds which receive gets which send, over all ranks of a run.
 *
 * The two ends of a message have the same number among the messages of their communicator, sender,
 * receiver and tag, which the recording gives them inside and outside windows (mpi/numbers.h). So a
 * message is found, whatever the windows, if both of its ends are in windows. Ends come in any
 * order, because clocks of nodes may be off: memory holds those whose other end has not come.
 *
 * Recordings of an older regtrace have no numbers. Their messages are counted here, from MPI_Init
 * on, as long as the process has recorded everything; from there on, none is matched.
 *
 * A partitioned message is sent by the MPI_Start of its sender, and received where the receive of
 * that start is complete.
 *
 * Not matched: what two threads did at the same time with one sender, receiver and tag, as its
 * order is not known; and messages on communicators whose identity is not known
 * (share/doc/schema.md). The rest is counted by reason. */
#ifndef REGTRACE_TOOLS_MESSAGES_MESSAGES_H
#define REGTRACE_TOOLS_MESSAGES_MESSAGES_H

#include "tools/messages/comm_tables.h"
#include "tools/streams/streams.h"

/* A message. Times are in ns, as in streams.h. */
struct message {
    uint32_t send_stream, receive_stream;
    uint32_t received_stream; /* the thread whose call completes the receive */
    int64_t send_ns, sent_ns; /* its call (MPI_Start if persistent) begins, ends */
    int64_t receive_ns;       /* the call that posts it, or the matched probe, begins */
    int64_t received_ns;      /* the receive is complete */
    uint64_t bytes;
    int32_t tag, sender, receiver;       /* ranks in MPI_COMM_WORLD */
    uint32_t comm;                       /* index in comms_all() */
    int32_t send_window, receive_window; /* in which it is sent; in which the receive is complete */
};

/* Why a send or a receive has no partner. */
enum unmatched_reason {
    /* Its partner is outside windows, lost, or not in this run. */
    UNMATCHED_ALONE,
    /* Not all ranks know its communicator by the same identity, or its request is not known. */
    UNMATCHED_UNIDENTIFIED,
    /* Threads of a process did the same at once: their order is not known. */
    UNMATCHED_CONCURRENT,
    /* Its size differs from that of the partner. */
    UNMATCHED_UNLIKE,
    /* Not complete in the recording. */
    UNMATCHED_UNFINISHED,
    /* It has no number. */
    UNMATCHED_UNNUMBERED,
    UNMATCHED_REASONS
};
struct unmatched {
    uint64_t sends[UNMATCHED_REASONS], receives[UNMATCHED_REASONS];
};
const char *unmatched_text(enum unmatched_reason why);

/* A send or a receive without a partner. */
struct unmatched_end {
    bool is_send;
    enum unmatched_reason why;
    uint32_t stream;
    int32_t window;
    int64_t ns;                    /* the call that sends, or posts the receive, begins */
    uint64_t bytes;                /* 0: not known */
    int32_t sender, receiver, tag; /* ranks in MPI_COMM_WORLD; -1: not known */
};

/* Chooses which messages are reported: "all" (the default) or "none". Applies to all that are
 * opened from now on. Returns false if `which` is none of these. */
RT_MUST_CHECK bool messages_choose(const char *which);
const char *messages_chosen(void);

struct messages;

/* Opens the matching; comms and streams must outlive it. found: receives each message once, as soon
 * as both of its ends are known. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int messages_open(struct messages **messages, const struct streams *streams,
                                const struct comms *comms,
                                void (*found)(void *context, const struct message *m),
                                void *context, struct rt_error *e);
/* Chooses who receives each send and receive without a partner, as soon as that is known. */
void messages_tell_unmatched(struct messages *m,
                             void (*lone)(void *context, const struct unmatched_end *x));
/* Takes every record, in the order of streams_next(). Returns 0 or -ENOMEM. */
RT_MUST_CHECK int messages_take(struct messages *m, const struct stream_record *r,
                                struct rt_error *e);
/* Reports the last messages after the last record, and counts in *left what has no partner. May be
 * called once. */
RT_MUST_CHECK int messages_end(struct messages *m, struct unmatched *left, struct rt_error *e);
void messages_close(struct messages *m);

#endif
