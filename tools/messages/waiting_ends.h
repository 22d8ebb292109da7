/* SPDX-License-Identifier: BSD-3-Clause
 * The ends of messages whose other ends have not come yet. The identity of a message is its
 * communicator, sender, receiver, tag and number. */
#ifndef REGTRACE_TOOLS_MESSAGES_WAITING_ENDS_H
#define REGTRACE_TOOLS_MESSAGES_WAITING_ENDS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct message_identity {
    uint32_t comm, sender, receiver; /* processes */
    int32_t tag;
    uint64_t number;
};

struct message_end {
    struct message_identity identity;
    bool is_send, concurrent;
    uint32_t stream, end_stream; /* of a receive: the threads that post and complete it */
    int32_t window;              /* of a receive: in which it is complete */
    /* Rank in MPI_COMM_WORLD of the other end if that process is not in the run; -1: not known. */
    int32_t absent;
    int64_t ns, end_ns; /* the send's call, or from the posting to the completion */
    uint64_t bytes;     /* BYTES_UNKNOWN; of a send 0: not known */
    uint64_t room;      /* of a receive of unknown size: of its buffer */
};
#define BYTES_UNKNOWN UINT64_MAX

struct waiting_ends;

/* Returns NULL if there is no memory. */
struct waiting_ends *waiting_open(void);
void waiting_close(struct waiting_ends *w);
/* Takes out the other end of this one: returns true and sets *other. If there is none, stores the
 * end. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int waiting_meet(struct waiting_ends *w, const struct message_end *end,
                               struct message_end *other, bool *met);
/* Removes a send that was cancelled, or had failed, and sets *send unless that is NULL. Returns
 * false if it is not there. */
bool waiting_remove_send(struct waiting_ends *w, const struct message_identity *identity,
                         struct message_end *send);
/* Calls `take` for each end that is left. */
void waiting_each(const struct waiting_ends *w,
                  void (*take)(void *context, const struct message_end *end), void *context);

#endif
