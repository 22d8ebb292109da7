/* SPDX-License-Identifier: BSD-3-Clause
 * Implements the hooks of the model of threads' lives. event_replay.c itself follows when threads
 * begin and end, and where they are. */
#include "tools/channels/models.h"

#include "base/format/event_fields.h"

#include <stdio.h>

enum { WAITED = 1, DROPPED };

int no_value(struct event_replay *r, const struct stream_record *rec, int64_t *value,
             struct rt_error *e)
{
    (void)r;
    (void)rec;
    (void)value;
    (void)e;
    return 0;
}

int ovni_waited(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                struct rt_error *e)
{
    (void)r;
    (void)rec;
    (void)e;
    *value = WAITED;
    return 0;
}

int ovni_dropped(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                 struct rt_error *e)
{
    (void)value;
    int rc = replay_gap_ends(r, rec, e);
    return rc == 0 ? emu_event(r->emu, rec->stream, CHANNEL_OVNI_FLUSH, DROPPED, e) : rc;
}

int ovni_image(struct event_replay *r, const struct stream_record *rec, int64_t *value,
               struct rt_error *e)
{
    (void)value;
    (void)e;
    function_numbers_moved(r->functions, rec->stream);
    return 0;
}

int ovni_affinity(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                  struct rt_error *e)
{
    (void)value;
    int32_t one = EVENT_GET(&rec->event, EV_AFFINITY, processors) == 1
                      ? (int32_t)EVENT_GET(&rec->event, EV_AFFINITY, first)
                      : -1;
    if (r->options.observed)
        return 0;
    return replay_moves(r, rec->stream, replay_processor_row(r, r->threads[rec->stream].node, one),
                        e);
}

static const char *state_text(const struct event_replay *r, uint32_t channel, int64_t value,
                              char room[64])
{
    (void)r;
    (void)channel;
    (void)room;
    return emu_state_name((enum emu_state)value);
}

const struct labels labels_of_states = {.last = EMU_WARMING, .text = state_text};

static int64_t last_processor(const struct event_replay *r, uint32_t channel)
{
    (void)channel;
    return r->processor_count;
}

static const char *processor_text(const struct event_replay *r, uint32_t channel, int64_t value,
                                  char room[64])
{
    (void)channel;
    if (value == 0)
        return "none";
    const struct replay_processor *p = &r->processors[value - 1];
    if (p->number < 0)
        (void)snprintf(room, 64, "%.40s:several", r->nodes[p->node]);
    else
        (void)snprintf(room, 64, "%.40s:%d", r->nodes[p->node], p->number);
    return room;
}

const struct labels labels_of_processors = {.known = last_processor, .text = processor_text};

static const char *flush_text(const struct event_replay *r, uint32_t channel, int64_t value,
                              char room[64])
{
    (void)r;
    (void)channel;
    (void)room;
    return value == WAITED    ? "has waited for the writer"
           : value == DROPPED ? "events were dropped"
                              : NULL;
}

const struct labels labels_of_flushes = {.last = DROPPED, .text = flush_text};
