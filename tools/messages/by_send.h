/* SPDX-License-Identifier: BSD-3-Clause
 * Messages in the order in which they were sent, for whoever writes lines in the order of time: each is there when the lines of its time are written,
 * but those that were received long after, which are kept to the end. */
#ifndef REGTRACE_TOOLS_MESSAGES_BY_SEND_H
#define REGTRACE_TOOLS_MESSAGES_BY_SEND_H

#include "tools/messages/messages.h"

/* All zero at first; free with by_send_free(). */
struct by_send {
    struct emu_message *heap; /* the first sent on top */
    struct emu_message *late; /* found when lines of their time had been written */
    size_t count, room, late_count, late_room;
    int64_t written; /* up to before this time */
    bool no_memory;
};

void by_send_add(struct by_send *l, const struct emu_message *m);
/* The first that was sent before that time; false: none. Lines up to there are written then. */
bool by_send_next(struct by_send *l, int64_t before, struct emu_message *m);
/* As by_send_next(), where nothing waits: most often. */
static inline bool by_send_is_empty(struct by_send *l, int64_t before)
{
    if (l->count == 0)
        l->written = before;
    return l->count == 0;
}
/* In order. */
const struct emu_message *by_send_late(struct by_send *l, size_t *count);
void by_send_free(struct by_send *l);

#endif
