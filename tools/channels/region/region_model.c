/* SPDX-License-Identifier: BSD-3-Clause
 * Implements the model of windows, regions, marks, alarms and signals. A region that begins before
 * a window may end in it, and one that begins in a window may end after it. */
#include "tools/channels/models.h"

#include "base/format/event_fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number_of(struct names *n, const char *text, int64_t *value, struct rt_error *e)
{
    *value = names_number(n, text);
    return *value != 0 ? 0 : replay_no_memory(e);
}

/* --- windows ---------------------------------------------------------------------------------- */

int region_window_opens(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                        struct rt_error *e)
{
    (void)value;
    struct replay_row *row = &r->rows[rec->stream];
    replay_recorded(r, rec->stream, true);
    row->window = (int32_t)EVENT_GET(&rec->event, EV_WINDOW_OPEN, ordinal);
    row->has_lost = false;
    row->activity = ROW_KNOWN; /* enters of open calls follow */
    int rc = emu_set(r->emu, rec->stream, CHANNEL_REGION_WINDOW,
                     (int64_t)EVENT_GET(&rec->event, EV_WINDOW_OPEN, ordinal) + 1, e);
    return rc == 0 ? mpi_show(r, rec->stream, e) : rc;
}

/* Checks that every call has been left. Calls and functions that continue after the window have
 * leaves before its close. */
static int check_left(const struct event_replay *r, uint32_t stream, struct rt_error *e)
{
    if (r->options.policy == EMU_SALVAGE || (emu_depth(r->emu, stream, CHANNEL_MPI_FUNCTION) == 0 &&
                                             emu_depth(r->emu, stream, CHANNEL_FUNC_NAME) == 0))
        return 0;
    rt_error_set(e, "the window closes, and what was entered in it has not been left");
    return -EINVAL;
}

int region_window_closes(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                         struct rt_error *e)
{
    (void)value;
    int rc = check_left(r, rec->stream, e);
    replay_recorded(r, rec->stream, false);
    r->rows[rec->stream].has_lost = false;
    r->rows[rec->stream].activity = ROW_KNOWN;
    replay_settle(r, rec->stream, false);
    if (rc == 0)
        rc = emu_set(r->emu, rec->stream, CHANNEL_REGION_WINDOW, 0, e);
    return rc == 0 ? mpi_show(r, rec->stream, e) : rc;
}

static const char *window_text(const struct event_replay *r, uint32_t channel, int64_t value,
                               char room[64])
{
    (void)r;
    (void)channel;
    (void)room;
    return value == 0 ? "Outside windows" : NULL;
}

const struct labels labels_of_windows = {.text = window_text};

/* --- regions, levels, alarms, signals --------------------------------------------------------- */

int region_name(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                struct rt_error *e)
{
    return number_of(&r->regions,
                     rt_rank_string(replay_rank_of(r, rec),
                                    (uint32_t)EVENT_GET(&rec->event, EV_REGION_BEGIN, region)),
                     value, e);
}

int region_level(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                 struct rt_error *e)
{
    char text[1100];
    const char *name = rt_rank_string(replay_rank_of(r, rec),
                                      (uint32_t)EVENT_GET(&rec->event, EV_MPI_PCONTROL, name));
    (void)snprintf(text, sizeof text, "MPI_Pcontrol(%" PRId32 "%s%s)",
                   (int32_t)EVENT_GET(&rec->event, EV_MPI_PCONTROL, level),
                   rec->event.b != 0 ? ", " : "", rec->event.b != 0 ? name : "");
    return number_of(&r->levels, text, value, e);
}

int region_alarm(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                 struct rt_error *e)
{
    const struct rt_rank_tables *t = rt_rank_tables(replay_rank_of(r, rec));
    int16_t alarm = (int16_t)EVENT_GET(&rec->event, EV_FIRED, alarm);
    const char *text = "default start or the program itself";
    for (size_t i = 0; i < t->alarm_count; i++)
        if (t->alarms[i].alarm == alarm)
            text = t->alarms[i].text;
    return number_of(&r->alarms, text, value, e);
}

int region_signal(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                  struct rt_error *e)
{
    (void)r;
    (void)e;
    *value = (int64_t)rec->event.a;
    return 0;
}

static const struct names *names_of(const struct event_replay *r, uint32_t channel)
{
    return channel == CHANNEL_REGION_NAME       ? &r->regions
           : channel == CHANNEL_REGION_PCONTROL ? &r->levels
                                                : &r->alarms;
}

static int64_t last_name(const struct event_replay *r, uint32_t channel)
{
    return names_of(r, channel)->count;
}

static const char *name_text(const struct event_replay *r, uint32_t channel, int64_t value,
                             char room[64])
{
    (void)room;
    return names_text(names_of(r, channel), value);
}

const struct labels labels_of_names = {.known = last_name, .text = name_text};

static const char *signal_text(const struct event_replay *r, uint32_t channel, int64_t value,
                               char room[64])
{
    (void)r;
    (void)channel;
    const char *name = value > 0 ? sigabbrev_np((int)value) : NULL;
    if (name == NULL)
        return NULL;
    (void)snprintf(room, 64, "SIG%s", name);
    return room;
}

const struct labels labels_of_signals = {.last = 64, .text = signal_text};

/* --- marks ------------------------------------------------------------------------------------ */

static int mark_of(const struct stream_record *rec, uint32_t *channel, struct rt_error *e)
{
    uint32_t type = (uint32_t)EVENT_GET(&rec->event, EV_MARK_TYPE, type);
    if (type >= MARKS) {
        rt_error_set(e, "marks have types from 0 to %d, not %" PRIu32, MARKS - 1, type);
        return -EINVAL;
    }
    *channel = CHANNEL_REGION_MARK + type;
    return 0;
}

/* A mark whose type was never defined gets its kind from its first use. */
static void is_of_kind(struct event_replay *r, uint32_t channel, enum emu_kind kind)
{
    bool *known = &r->mark_known[channel - CHANNEL_REGION_MARK];
    if (!*known)
        r->emu_channels[channel].kind = kind;
    *known = true;
}

int region_mark_type(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                     struct rt_error *e)
{
    uint32_t channel;
    (void)value;
    if (mark_of(rec, &channel, e) != 0)
        return -EINVAL;
    const char *title = rt_rank_string(replay_rank_of(r, rec),
                                       (uint32_t)EVENT_GET(&rec->event, EV_MARK_TYPE, title));
    struct model_channel *c = &r->channels[channel];
    if (title[0] != '\0')
        (void)snprintf(c->title, sizeof c->title, "%s", title);
    is_of_kind(r, channel,
               (EVENT_GET(&rec->event, EV_MARK_TYPE, flags) & 1) != 0 ? EMU_STACK : EMU_SINGLE);
    return 0;
}

int region_mark_label(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                      struct rt_error *e)
{
    uint32_t channel;
    (void)value;
    if (mark_of(rec, &channel, e) != 0)
        return -EINVAL;
    uint32_t type = channel - CHANNEL_REGION_MARK, n = r->mark_label_count[type], i = 0;
    uint32_t text = names_number(
        &r->marks, rt_rank_string(replay_rank_of(r, rec),
                                  (uint32_t)EVENT_GET(&rec->event, EV_MARK_LABEL, label)));
    struct mark_label *labels = r->mark_labels[type];
    while (i < n && labels[i].value != (int64_t)rec->event.b)
        i++;
    if (i == n && text != 0) {
        labels = realloc(labels, (n + 1u) * sizeof *labels);
        if (labels == NULL)
            return replay_no_memory(e);
        r->mark_labels[type] = labels;
        r->mark_label_count[type]++;
    }
    if (text == 0)
        return replay_no_memory(e);
    labels[i] = (struct mark_label){(int64_t)rec->event.b, text};
    return 0;
}

int region_mark_push(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                     struct rt_error *e)
{
    uint32_t channel;
    (void)value;
    if (mark_of(rec, &channel, e) != 0)
        return -EINVAL;
    is_of_kind(r, channel, EMU_STACK);
    return emu_push(r->emu, rec->stream, channel, (int64_t)rec->event.b, e);
}

int region_mark_pop(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                    struct rt_error *e)
{
    uint32_t channel;
    (void)value;
    if (mark_of(rec, &channel, e) != 0)
        return -EINVAL;
    is_of_kind(r, channel, EMU_STACK);
    if (emu_depth(r->emu, rec->stream, channel) == 0)
        return 0; /* pushed outside the window */
    return emu_pop(r->emu, rec->stream, channel, (int64_t)rec->event.b, e);
}

int region_mark_set(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                    struct rt_error *e)
{
    uint32_t channel;
    (void)value;
    if (mark_of(rec, &channel, e) != 0)
        return -EINVAL;
    is_of_kind(r, channel, EMU_SINGLE);
    return emu_set(r->emu, rec->stream, channel, (int64_t)rec->event.b, e);
}

static int64_t last_mark(const struct event_replay *r, uint32_t channel)
{
    return (int64_t)r->mark_label_count[r->channels[channel].index] - 1;
}

/* Returns the label at a place in mark_labels; replay_labels() supplies the values. */
static const char *mark_text(const struct event_replay *r, uint32_t channel, int64_t place,
                             char room[64])
{
    (void)room;
    return names_text(&r->marks, r->mark_labels[r->channels[channel].index][place].text);
}

const struct labels labels_of_marks = {.known = last_mark, .text = mark_text};
