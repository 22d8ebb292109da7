/* SPDX-License-Identifier: BSD-3-Clause
 * Encodes messages as they are matched, and keeps them in a spool. */
#include "tools/timeline/message_lines.h"

#include "tools/timeline/tracks.h"

#include <errno.h>
#include <stdlib.h>

struct lines {
    struct event_replay *replay;
    struct comms *comms;
    struct messages *messages;
    struct spool *spool;
    struct unmatched left;
    uint64_t count;
    int64_t last; /* begin of the send before */
};

static void found(void *context, const struct message *m)
{
    struct lines *l = context;
    uint8_t bytes[128], *p = bytes;
    int64_t realtime, send = m->send_ns - replay_origin(l->replay, &realtime);
    p = number_encode(p, zigzag(send - l->last));
    p = number_encode(p, (uint64_t)(m->sent_ns - m->send_ns));
    p = number_encode(p, zigzag(m->received_ns - m->send_ns));
    p = number_encode(p, (uint64_t)(m->received_ns - m->receive_ns));
    p = number_encode(p, m->send_stream);
    p = number_encode(p, m->receive_stream);
    p = number_encode(p, m->bytes);
    p = number_encode(p, zigzag(m->tag));
    p = number_encode(p, m->comm);
    spool_put(l->spool, 0, bytes, (size_t)(p - bytes));
    l->last = send;
    l->count++;
}

int lines_open(struct lines **lines, struct event_replay *r, const char *dir, struct rt_error *e)
{
    struct lines *l = calloc(1, sizeof *l);
    *lines = l;
    if (l == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    l->replay = r;
    int rc = spool_open(&l->spool, dir, e);
    if (rc == 0)
        rc = comms_open(&l->comms, replay_streams(r), e);
    if (rc == 0)
        rc = messages_open(&l->messages, replay_streams(r), l->comms, found, l, e);
    return rc;
}

int lines_take(struct lines *l, const struct stream_record *r, struct rt_error *e)
{
    return messages_take(l->messages, r, e);
}

int lines_end(struct lines *l, struct rt_error *e)
{
    int rc = messages_end(l->messages, &l->left, e);
    return rc == 0 ? spool_end(l->spool, e) : rc;
}

void lines_close(struct lines *l)
{
    if (l == NULL)
        return;
    messages_close(l->messages);
    comms_close(l->comms);
    spool_close(l->spool);
    free(l);
}

uint64_t lines_count(const struct lines *l)
{
    return l->count;
}

const struct unmatched *lines_left(const struct lines *l)
{
    return &l->left;
}

const struct comms *lines_comms(const struct lines *l)
{
    return l->comms;
}

int lines_read(struct lines *l, int (*take)(void *context, const uint8_t *bytes, size_t n),
               void *context, struct rt_error *e)
{
    return spool_read(l->spool, 0, take, context, e);
}
