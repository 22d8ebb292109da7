/* SPDX-License-Identifier: BSD-3-Clause
 * Processes events in the order of time, each by its rule in the models' tables. */
#include "tools/channels/event_replay.h"

#include "tools/channels/models.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int replay_no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int show_running(struct event_replay *r, int32_t processor, struct rt_error *e)
{
    if (processor < 0)
        return 0;
    return emu_set_processor(r->emu, (uint32_t)processor, CHANNEL_OVNI_THREADS,
                             emu_running(r->emu, (uint32_t)processor), e);
}

int replay_moves(struct event_replay *r, uint32_t stream, int32_t processor, struct rt_error *e)
{
    int32_t before = emu_thread_processor(r->emu, stream);
    if (processor == before)
        return 0;
    int rc = emu_thread_moves(r->emu, stream, processor, e);
    if (rc == 0)
        rc = show_running(r, before, e);
    if (rc == 0)
        rc = show_running(r, processor, e);
    return rc == 0 ? emu_set(r->emu, stream, CHANNEL_OVNI_CPU, processor + 1, e) : rc;
}

static int is_now(struct event_replay *r, uint32_t stream, enum emu_state state, struct rt_error *e)
{
    int rc = emu_thread_is(r->emu, stream, state, e);
    if (rc == 0)
        rc = emu_set(r->emu, stream, CHANNEL_OVNI_STATE, state, e);
    return rc == 0 ? show_running(r, emu_thread_processor(r->emu, stream), e) : rc;
}

static int begins(struct event_replay *r, uint32_t stream, struct rt_error *e)
{
    const struct replay_thread *t = &r->threads[stream];
    int rc = replay_moves(r, stream, r->rows[stream].bound, e);
    if (rc == 0)
        rc = is_now(r, stream, EMU_RUNNING, e);
    if (rc == 0)
        rc = emu_set(r->emu, stream, CHANNEL_OVNI_PID, t->pid, e);
    if (rc == 0)
        rc = emu_set(r->emu, stream, CHANNEL_OVNI_TID, t->tid, e);
    replay_recorded(r, stream, false);
    return rc == 0 ? mpi_show(r, stream, e) : rc;
}

static void clear(struct event_replay *r, uint32_t stream, uint32_t channel, bool spoiled)
{
    if (channel == CHANNEL_MPI_FUNCTION)
        r->rows[stream].calls = 0;
    if (channel != CHANNEL_NONE)
        emu_clear(r->emu, stream, channel, spoiled);
}

void replay_recorded(struct event_replay *r, uint32_t stream, bool recorded)
{
    r->rows[stream].in_window = recorded;
    for (uint32_t k = 0; k < CHANNEL_COUNT; k++)
        if (model_is_unrecorded(&r->channels[k]))
            emu_rest(r->emu, stream, k, recorded ? 0 : EMU_NOT_RECORDED);
}

void replay_settle(struct event_replay *r, uint32_t stream, bool spoiled)
{
    for (uint32_t k = 0; k < CHANNEL_COUNT; k++)
        if (r->emu_channels[k].kind == EMU_STACK && emu_is_awake(r->emu, k))
            clear(r, stream, k, spoiled);
}

/* --- events ----------------------------------------------------------------------------------- */

static const struct model_rule *rule_of(const struct event_replay *r, uint32_t code)
{
    for (uint32_t i = r->rule_of[code & 0xffff]; i != 0 && i <= model_rule_count; i++) {
        const struct model_rule *rule = &model_rules[i - 1];
        if (rule->code == code || (rule->any && (rule->code & 0xffff) == (code & 0xffff)))
            return rule;
    }
    return NULL;
}

static int obey(struct event_replay *r, const struct model_rule *rule,
                const struct stream_record *rec, struct rt_error *e)
{
    int64_t value = 0;
    if (rule->action == ACTION_NOTHING)
        return 0;
    bool may_be_empty =
        rule->action == ACTION_END || (rule->action == ACTION_POP && r->rows[rec->stream].has_lost);
    if (may_be_empty && emu_depth(r->emu, rec->stream, rule->channel) == 0)
        return 0;
    int rc = rule->hook(r, rec, &value, e);
    if (rc != 0)
        return rc;
    switch (rule->action) {
    case ACTION_PUSH: return emu_push(r->emu, rec->stream, rule->channel, value, e);
    case ACTION_POP:
    case ACTION_END: return emu_pop(r->emu, rec->stream, rule->channel, value, e);
    case ACTION_SET: return emu_set(r->emu, rec->stream, rule->channel, value, e);
    case ACTION_TELL: return emu_event(r->emu, rec->stream, rule->channel, value, e);
    default: return 0;
    }
}

/* Prefixes the message with the place of the event. */
static void explain(const struct event_replay *r, const struct stream_record *rec, int64_t time,
                    struct rt_error *e)
{
    const struct thread_stream *s = &r->all[rec->stream];
    const char *label = "", *name = rt_rank_function(s->rank, rec->event.code, &label);
    const struct rt_rank_info *info = rt_rank_info(s->rank);
    rt_error_prefix(
        e, "rank %" PRId32 ", thread %" PRId32 ", row %" PRIu64 " of %s (%s, %s), at %.9f s",
        info->rank, s->number, rec->row, info->file, name, label, (double)time * 1e-9);
}

static int take_rule(struct event_replay *r, const struct stream_record *rec, int64_t time,
                     struct rt_error *e)
{
    const struct model_rule *rule = rule_of(r, rec->event.code);
    int rc = rule != NULL ? obey(r, rule, rec, e) : -EINVAL;
    if (rule == NULL)
        rt_error_set(e, "an event of code 0x%06" PRIx32 " is not known here", rec->event.code);
    if (rc == 0 || rc == -ENOMEM)
        return rc;
    explain(r, rec, time, e);
    if (r->options.policy != EMU_SALVAGE)
        return rc;
    if (r->found.wrong++ < 10 && r->options.told != NULL)
        r->options.told(r->options.context, e->text);
    if (rule != NULL)
        clear(r, rec->stream, rule->channel, true);
    return 0;
}

static int take(struct event_replay *r, const struct stream_record *rec, int64_t time,
                struct rt_error *e)
{
    struct replay_row *row = &r->rows[rec->stream];
    int rc = 0;
    if (emu_thread_state(r->emu, rec->stream) == EMU_UNKNOWN)
        rc = begins(r, rec->stream, e);
    if (rc == 0 && r->options.observed && rec->event.cpu != EVENT_CPU_UNKNOWN)
        rc = replay_moves(r, rec->stream,
                          replay_processor_row(r, r->threads[rec->stream].node, rec->event.cpu), e);
    if (rc == 0)
        rc = take_rule(r, rec, time, e);
    emu_emit(r->emu, time);
    if (rc == 0 && --row->left == 0) {
        rc = is_now(r, rec->stream, EMU_DEAD, e);
        emu_emit(r->emu, time);
    }
    return rc;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void shows(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value)
{
    struct event_replay *r = context;
    r->told[channel] = true;
    if (!r->used[channel])
        r->used[channel] = value != 0 && value != EMU_BAD && value != EMU_TOO_MANY_THREADS &&
                           value != EMU_NOT_RECORDED;
    r->sink->shows(r->sink->context, processor, row, channel, time < 0 ? 0 : time, value);
}

static int64_t realtime_of(const struct rt_rank *rank, int64_t ns)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    if (t->calibration_count == 0)
        return 0;
    const struct rt_calibration *c = &t->calibration[0];
    return (int64_t)c->realtime_ns + ns - rt_rank_ns(rank, c->ticks);
}

static int end(struct event_replay *r, struct rt_error *e)
{
    return r->options.policy == EMU_LINT ? emu_end(r->emu, e) : 0;
}

/* Begins all gaps that start before `ns`. Events at the time when a gap starts precede it. */
static int begin_gaps(struct event_replay *r, int64_t ns, struct rt_error *e)
{
    int rc = 0;
    for (; rc == 0 && r->next_gap < r->gap_count && r->gaps[r->next_gap].ns < ns; r->next_gap++) {
        const struct replay_gap *g = &r->gaps[r->next_gap];
        if (r->sink->gap != NULL)
            r->sink->gap(r->sink->context, g->stream, g->ns - r->origin);
        rc = replay_gap_begins(r, g, e);
    }
    return rc;
}

int replay_run(struct event_replay *r, const struct replay_sink *sink, struct replay_found *found,
               struct rt_error *e)
{
    struct stream_record rec;
    bool got;
    struct progress p;
    const bool shows_channels = !r->options.no_channels;
    r->sink = sink;
    int rc = streams_next(r->streams, &rec, &got, e);
    if (rc == 0 && got) {
        r->origin = rec.ns;
        r->realtime = realtime_of(r->all[rec.stream].rank, rec.ns);
    }
    if (rc == 0 && shows_channels)
        rc = replay_find_gaps(r, e);
    if (shows_channels)
        emu_begin(r->emu, 0);
    progress_begin(&p, "replaying, events");
    while (rc == 0 && got) {
        int64_t time = rec.ns - r->origin;
        r->found.end = time;
        if (r->next_gap < r->gap_count)
            rc = begin_gaps(r, rec.ns, e);
        if (rc == 0 && sink->event != NULL)
            rc = sink->event(sink->context, &rec, time, e);
        if (rc == 0 && shows_channels)
            rc = take(r, &rec, time, e);
        if ((++r->found.events & 0xffff) == 0)
            progress_update(&p, r->found.events, r->events);
        if (rc == 0)
            rc = streams_next(r->streams, &rec, &got, e);
    }
    progress_end(&p);
    if (rc == 0 && shows_channels)
        rc = end(r, e);
    if (found != NULL)
        *found = r->found;
    return rc;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void number_rules(struct event_replay *r)
{
    for (uint32_t i = model_rule_count; i-- > 0;)
        r->rule_of[model_rules[i].code & 0xffff] = (uint16_t)(i + 1);
}

static int open_emu(struct event_replay *r, struct rt_error *e)
{
    models_channels(r->channels);
    for (uint32_t k = 0; k < CHANNEL_COUNT; k++) {
        r->emu_channels[k] = r->channels[k].channel;
        r->emu_channels[k].name = r->channels[k].name;
        r->emu_channels[k].title = r->channels[k].title;
    }
    number_rules(r);
    r->functions = function_numbers_open(r->streams);
    r->emu = emu_open(r->emu_channels, CHANNEL_COUNT, r->thread_count, r->processor_count,
                      (struct emu_output){shows, r});
    return r->functions != NULL && r->emu != NULL ? 0 : replay_no_memory(e);
}

int replay_open(struct event_replay **replay, const struct rt_run *run,
                const struct replay_options *options, struct rt_error *e)
{
    struct event_replay *r = calloc(1, sizeof *r);
    *replay = NULL;
    if (r == NULL)
        return replay_no_memory(e);
    r->options = *options;
    int rc = streams_open(&r->streams, run, &options->ranks,
                          options->policy == EMU_SALVAGE ? &options->skipped : NULL, e);
    if (rc == 0)
        rc = replay_make_rows(r, e);
    if (rc == 0 && options->policy != EMU_SALVAGE)
        rc = replay_check_files(r, run, e);
    if (rc == 0)
        rc = open_emu(r, e);
    if (rc != 0) {
        replay_close(r);
        return rc;
    }
    r->events = streams_events(r->streams);
    *replay = r;
    return 0;
}

void replay_close(struct event_replay *r)
{
    if (r == NULL)
        return;
    for (uint32_t i = 0; r->rows != NULL && i < r->thread_count; i++)
        free(r->rows[i].open);
    for (unsigned i = 0; i < MARKS; i++)
        free(r->mark_labels[i]);
    names_free(&r->regions);
    names_free(&r->levels);
    names_free(&r->alarms);
    names_free(&r->marks);
    for (unsigned i = 0; i < sizeof r->counters / sizeof r->counters[0]; i++)
        names_free(&r->counters[i]);
    emu_close(r->emu);
    function_numbers_close(r->functions);
    streams_close(r->streams);
    free(r->gaps);
    free(r->rows);
    free(r->threads);
    free(r->processors);
    free((void *)r->nodes);
    free(r->first_processor);
    free(r);
}

/* --- queries ---------------------------------------------------------------------------------- */

const struct replay_thread *replay_threads(const struct event_replay *r, uint32_t *count)
{
    *count = r->thread_count;
    return r->threads;
}

const struct replay_processor *replay_processors(const struct event_replay *r, uint32_t *count)
{
    *count = r->processor_count;
    return r->processors;
}

uint32_t replay_file_count(const struct event_replay *r)
{
    return r->file_count;
}

const char *const *replay_nodes(const struct event_replay *r, uint32_t *count)
{
    *count = r->node_count;
    return r->nodes;
}

uint32_t replay_channel_count(const struct event_replay *r)
{
    (void)r;
    return CHANNEL_COUNT;
}

struct replay_channel replay_channel(const struct event_replay *r, uint32_t channel)
{
    const struct model_channel *c = &r->channels[channel];
    return (struct replay_channel){.name = c->name,
                                   .title = c->title,
                                   .paraver = c->paraver,
                                   .is_used = r->used[channel],
                                   .is_told = r->told[channel],
                                   .on_thread = !c->channel.on_processor ||
                                                c->channel.processor != EMU_ALWAYS,
                                   .on_processor = c->channel.on_processor,
                                   .kind = r->emu_channels[channel].kind};
}

struct streams *replay_streams(const struct event_replay *r)
{
    return r->streams;
}

uint64_t replay_event_count(const struct event_replay *r)
{
    return r->events;
}

int64_t replay_origin(const struct event_replay *r, int64_t *realtime_ns)
{
    *realtime_ns = r->realtime;
    return r->origin;
}

static int64_t last_label(const struct event_replay *r, uint32_t channel)
{
    const struct labels *l = r->channels[channel].labels;
    if (l == NULL)
        return -1;
    return l->known != NULL ? l->known(r, channel) : l->last;
}

void replay_labels(const struct event_replay *r, uint32_t channel,
                   void (*label)(void *context, int64_t value, const char *text), void *context)
{
    const struct model_channel *c = &r->channels[channel];
    char room[64];
    for (int64_t v = 0, last = last_label(r, channel); v <= last; v++) {
        const char *text = c->labels->text(r, channel, v, room);
        bool mark = channel >= CHANNEL_REGION_MARK && channel <= CHANNEL_REGION_MARK_LAST;
        if (text != NULL)
            label(context, mark ? r->mark_labels[c->index][v].value : v, text);
    }
    if (model_is_unrecorded(c))
        label(context, EMU_NOT_RECORDED, c->labels->unrecorded);
}
