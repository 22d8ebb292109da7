/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of a run, as lines from sends to receives. Of tools/timeline alone. */
#ifndef REGTRACE_TOOLS_TIMELINE_LINES_H
#define REGTRACE_TOOLS_TIMELINE_LINES_H

#include "tools/messages/messages.h"
#include "tools/channels/replay.h"

struct lines;

/* dir: where the temporary file goes. The replay must outlive them. */
RT_MUST_CHECK int lines_open(struct lines **l, struct replay *r, const char *dir,
                             struct rt_error *e);
/* Every record, in the order of time, once the replay has begun. */
RT_MUST_CHECK int lines_take(struct lines *l, const struct emu_record *r, struct rt_error *e);
RT_MUST_CHECK int lines_end(struct lines *l, struct rt_error *e);
void lines_close(struct lines *l);

uint64_t lines_count(const struct lines *l);
uint64_t lines_likely(const struct lines *l); /* of these, not sure */
/* What has no partner, once they have ended. */
const struct emu_unmatched *lines_left(const struct lines *l);
const struct emu_comms *lines_comms(const struct lines *l);

/* As bytes (numbers as in tracks.h): begin of the send minus that of the one before (zigzag), its duration, end of the receive minus begin of the send
 * (zigzag), duration of the receive from its posting on, streams of sender and receiver, bytes, tag (zigzag), comm. */
RT_MUST_CHECK int lines_read(struct lines *l,
                             int (*take)(void *context, const uint8_t *bytes, size_t n),
                             void *context, struct rt_error *e);

#endif
