/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts messages by the time of their send, for writers of lines in the order of time. A message is
 * available when the lines of its time are written, unless it was received long after; such late
 * messages are stored until the end. */
#ifndef REGTRACE_TOOLS_MESSAGES_BY_SEND_H
#define REGTRACE_TOOLS_MESSAGES_BY_SEND_H

#include "tools/messages/messages.h"

/* Initially all zero; free with by_send_free(). */
struct by_send {
    struct message *heap; /* the earliest send on top */
    struct message *late; /* found after the lines of their time were written */
    size_t count, room, late_count, late_room;
    int64_t written; /* lines before this time are written */
    bool no_memory;
};

void by_send_add(struct by_send *l, const struct message *m);
/* Takes the earliest message sent before that time; returns false if there is none. The caller then
 * writes all lines before that time. */
bool by_send_next(struct by_send *l, int64_t before, struct message *m);
/* Does what by_send_next() does if no message waits, which is the usual case. */
static inline bool by_send_is_empty(struct by_send *l, int64_t before)
{
    if (l->count == 0)
        l->written = before;
    return l->count == 0;
}
/* Returns the late messages, sorted. */
const struct message *by_send_late(struct by_send *l, size_t *count);
void by_send_free(struct by_send *l);

#endif
