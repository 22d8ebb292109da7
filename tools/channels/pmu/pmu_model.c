/* SPDX-License-Identifier: BSD-3-Clause
 * Implements the model of counters. */
#include "tools/channels/models.h"

#include "base/format/event_fields.h"

#include <errno.h>
#include <stdio.h>

enum { WINDOW, CALL, STATS };

/* Shows a count. of: one of the three kinds of counters; first: that kind's first channel. Counters
 * get channels in the order in which their names occur. */
static int counted(struct event_replay *r, const struct stream_record *rec, unsigned of,
                   uint32_t first, const char *title, struct rt_error *e)
{
    const char *name =
        rt_rank_string(replay_rank_of(r, rec), (uint32_t)EVENT_GET(&rec->event, EV_COUNTER, event));
    uint32_t before = r->counters[of].count, number = names_number(&r->counters[of], name);
    enum { EACH = CHANNEL_PMU_WINDOW_LAST - CHANNEL_PMU_WINDOW + 1 };
    if (number == 0)
        return replay_no_memory(e);
    if (number > EACH) {
        rt_error_set(e, "more than %d counters: %s has no channel", EACH, name);
        return -EINVAL;
    }
    struct model_channel *c = &r->channels[first + number - 1];
    if (before != r->counters[of].count)
        (void)snprintf(c->title, sizeof c->title, "%.90s %s", name, title);
    int64_t value = rec->event.b > INT64_MAX ? INT64_MAX : (int64_t)rec->event.b;
    return emu_set(r->emu, rec->stream, first + number - 1, value, e);
}

int pmu_window(struct event_replay *r, const struct stream_record *rec, int64_t *value,
               struct rt_error *e)
{
    (void)value;
    return counted(r, rec, WINDOW, CHANNEL_PMU_WINDOW, "in the window", e);
}

int pmu_mpi(struct event_replay *r, const struct stream_record *rec, int64_t *value,
            struct rt_error *e)
{
    (void)value;
    return counted(r, rec, CALL, CHANNEL_PMU_MPI, "in the MPI call", e);
}

int pmu_stats(struct event_replay *r, const struct stream_record *rec, int64_t *value,
              struct rt_error *e)
{
    (void)value;
    return counted(r, rec, STATS, CHANNEL_PMU_STATS, "by stats-emit", e);
}
