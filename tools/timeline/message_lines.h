/* SPDX-License-Identifier: BSD-3-Clause
 * Matches the messages of a run and keeps them as lines from sends to receives. For tools/timeline
 * only. */
#ifndef REGTRACE_TOOLS_TIMELINE_MESSAGE_LINES_H
#define REGTRACE_TOOLS_TIMELINE_MESSAGE_LINES_H

#include "tools/messages/messages.h"
#include "tools/channels/event_replay.h"

struct lines;

/* Starts the matching; the temporary file goes into the folder `dir`. The replay must outlive *l.
 * Returns 0, or -errno with the reason in *e; call lines_close() in both cases. */
RT_MUST_CHECK int lines_open(struct lines **l, struct event_replay *r, const char *dir,
                             struct rt_error *e);
/* Takes every record, in the order of time, once the replay has begun. */
RT_MUST_CHECK int lines_take(struct lines *l, const struct stream_record *r, struct rt_error *e);
RT_MUST_CHECK int lines_end(struct lines *l, struct rt_error *e);
void lines_close(struct lines *l);

uint64_t lines_count(const struct lines *l);
/* Returns the counts of sends and receives without a partner; valid after lines_end(). */
const struct unmatched *lines_left(const struct lines *l);
const struct comms *lines_comms(const struct lines *l);

/* Reads the messages as bytes, each as these numbers, encoded as in tracks.h:
 *
 * - begin of the send minus that of the send before (zigzag)
 * - duration of the send
 * - end of the receive minus begin of the send (zigzag)
 * - duration of the receive, from its posting on
 * - streams of sender and receiver
 * - bytes
 * - tag (zigzag)
 * - communicator */
RT_MUST_CHECK int lines_read(struct lines *l,
                             int (*take)(void *context, const uint8_t *bytes, size_t n),
                             void *context, struct rt_error *e);

#endif
