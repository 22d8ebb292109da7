/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the messages of the exported run that have both ends in the selection.
 *
 * It is known long after a send which receive belongs to it (tools/messages/messages.h). So a pass
 * over the run before the walk finds the messages, and the walk reports their ends as it comes to
 * them. Memory: 56 bytes a message. */
#ifndef REGTRACE_TOOLS_EXPORT_EXPORT_MESSAGES_H
#define REGTRACE_TOOLS_EXPORT_EXPORT_MESSAGES_H

#include "tools/messages/messages.h"

struct export;

struct export_message {
    /* From the run's origin: when the sending call begins, when the receive is complete. */
    int64_t send_ns, received_ns;
    uint64_t bytes;
    uint32_t send_stream, receive_stream;
    int32_t tag;
    uint32_t comm; /* index in comms_all() */
};

struct export_messages {
    struct export_message *all;
    size_t count, room;
    uint32_t *ends; /* 2 * message + (1 for its receive), by stream and time */
    /* By stream: the range of its ends that have not been reported. */
    size_t *next, *after;
    uint64_t alone;        /* messages with only one end in the selection */
    struct unmatched left; /* in all windows of the exported ranks */
};

/* Returns whether any process of the run called MPI. */
bool export_has_mpi(const struct streams *streams);

/* Reads the whole run, for the ranks in the selection. Reports failures by export_fail(). */
void export_messages_read(struct export *x, const struct rt_run *run);
void export_messages_free(struct export_messages *m);

/* Returns the message of the stream's first end that has not been reported and is not after `ns`,
 * or NULL. */
const struct export_message *export_messages_next(struct export_messages *m, uint32_t stream,
                                                  int64_t ns, bool *received);
/* Marks that end as reported. */
void export_messages_told(struct export_messages *m, uint32_t stream);

#endif
