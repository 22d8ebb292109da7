/* SPDX-License-Identifier: BSD-3-Clause
 * The messages of the run that is exported, each with both ends in the selection.
 *
 * Which send belongs to which receive is known long after the send (tools/messages/messages.h): a pass over the run before the walk finds
 * them, and their ends are told as the walk comes to them. Memory: 56 bytes a message. */
#ifndef REGTRACE_TOOLS_EXPORT_MESSAGES_H
#define REGTRACE_TOOLS_EXPORT_MESSAGES_H

#include "tools/messages/messages.h"

struct export;

struct export_message {
    int64_t send_ns, received_ns; /* from the run's origin: its call begins; it is complete */
    uint64_t bytes;
    uint32_t send_stream, receive_stream;
    int32_t tag;
    uint32_t comm; /* of emu_comms_all() */
    bool likely;   /* not sure */
};

struct export_messages {
    struct export_message *all;
    size_t count, room;
    uint32_t *ends;        /* 2 * message + (1: its receive), by stream and time */
    size_t *next, *behind; /* by stream: its ends that are to be told */
    uint64_t alone;        /* messages of which one end is in the selection, and the other is not */
    struct emu_unmatched left; /* in all windows of the ranks that are exported */
};

/* A process of the run called MPI. */
bool export_has_mpi(const struct emu_streams *streams);

/* Reads the whole run, of the ranks that are asked for. Failures: export_fail(). */
void export_messages_read(struct export *x, const struct rt_run *run);
void export_messages_free(struct export_messages *m);

/* The first end of the stream that is not told yet and is not behind `ns`; NULL: none. */
const struct export_message *export_messages_next(struct export_messages *m, uint32_t stream,
                                                  int64_t ns, bool *received);
/* It is told. */
void export_messages_told(struct export_messages *m, uint32_t stream);

#endif
