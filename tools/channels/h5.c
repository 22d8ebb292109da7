/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a replay to the HDF5 file of channels. */
#include "tools/channels/h5.h"

#include "tools/waits/wait_states.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct h5 {
    struct event_replay *replay;
    struct rt_channels *file;
    const char **names; /* names of channels */
    struct h5_found *found;
    struct comms *comms;
    struct messages *messages;
    struct wait_states *waits;
    struct unmatched unmatched;
    uint64_t unmatched_collectives;
    int rc;
    struct rt_error e;
    /* Tables for the end of the file. */
    struct rt_channel_about *channels;
    struct rt_channels_thread *threads;
    struct rt_channels_processor *processors;
    struct rt_channels_label *labels; /* texts are copies */
    size_t label_count, label_room;
    char *reasons, *kinds; /* of rows of matches */
    const char *labelled;  /* channel whose labels are being added */
};

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

static void shows(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value)
{
    struct h5 *h = context;
    const struct rt_channel_change change = {time, row, value};
    if (h->rc == 0)
        h->rc = rt_channels_put(h->file, processor, channel, &change, &h->e);
    h->found->changes++;
}

static int64_t origin_of(const struct h5 *h)
{
    int64_t realtime;
    return replay_origin(h->replay, &realtime);
}

static void keep_message(void *context, const struct message *m)
{
    struct h5 *h = context;
    int64_t origin = origin_of(h);
    const struct rt_channels_message row = {.send_ns = m->send_ns - origin,
                                            .sent_ns = m->sent_ns - origin,
                                            .receive_ns = m->receive_ns - origin,
                                            .received_ns = m->received_ns - origin,
                                            .bytes = m->bytes,
                                            .send_row = m->send_stream,
                                            .receive_row = m->receive_stream,
                                            .sender = m->sender,
                                            .receiver = m->receiver,
                                            .tag = m->tag,
                                            .send_window = m->send_window,
                                            .receive_window = m->receive_window};
    wait_states_message(h->waits, m);
    if (h->rc == 0)
        h->rc = rt_channels_put_message(h->file, &row, &h->e);
    h->found->messages++;
}

static void keep_unmatched(void *context, const struct unmatched_end *x)
{
    struct h5 *h = context;
    const struct rt_channels_unmatched row = {.time_ns = x->ns - origin_of(h),
                                              .bytes = x->bytes,
                                              .row = x->stream,
                                              .window = x->window,
                                              .sender = x->sender,
                                              .receiver = x->receiver,
                                              .tag = x->tag,
                                              .is_send = x->is_send,
                                              .reason = (uint8_t)x->why};
    if (h->rc == 0)
        h->rc = rt_channels_put_unmatched(h->file, &row, &h->e);
}

static uint32_t code_of(const struct wait_place *at)
{
    return at->function < EVENT_MPI_FUNCTIONS_MOST ? EVENT_MPI_ENTER(at->function) : 0;
}

static void keep_wait(void *context, const struct wait_state *x)
{
    struct h5 *h = context;
    const struct rt_channels_wait row = {.begin_ns = x->begin_ns - origin_of(h),
                                         .wait_ns = x->ns,
                                         .row = x->site.stream,
                                         .window = x->window,
                                         .rank = x->rank,
                                         .for_rank = x->for_rank,
                                         .code = code_of(&x->site),
                                         .path = x->site.path,
                                         .for_row = x->cause.stream,
                                         .for_code = code_of(&x->cause),
                                         .for_path = x->cause.path,
                                         .kind = (uint8_t)x->kind};
    if (h->rc == 0)
        h->rc = rt_channels_put_wait(h->file, &row, &h->e);
}

/* Passes an event to the matching. If a write has failed, ends the replay. */
static int go_on(void *context, const struct stream_record *r, int64_t time, struct rt_error *e)
{
    struct h5 *h = context;
    (void)time;
    if (h->rc == 0) {
        int rc = wait_states_take(h->waits, r, e);
        return rc == 0 ? messages_take(h->messages, r, e) : rc;
    }
    *e = h->e;
    return h->rc;
}

static int open_messages(struct h5 *h, struct rt_error *e)
{
    const struct streams *streams = replay_streams(h->replay);
    int rc = comms_open(&h->comms, streams, e);
    if (rc == 0)
        rc = wait_states_open(&h->waits, streams, h->comms, NULL, keep_wait, h, e);
    if (rc == 0)
        rc = messages_open(&h->messages, streams, h->comms, keep_message, h, e);
    if (rc == 0)
        messages_tell_unmatched(h->messages, keep_unmatched);
    return rc;
}

static int end_messages(struct h5 *h, struct rt_error *e)
{
    int rc = messages_end(h->messages, &h->unmatched, e);
    if (rc == 0)
        wait_states_end(h->waits, &h->unmatched_collectives);
    return rc;
}

static void keep_label(void *context, int64_t value, const char *text)
{
    struct h5 *h = context;
    char *copy = strdup(text);
    void *labels = array_grown(h->labels, h->label_count, &h->label_room, sizeof *h->labels);
    h->labels = labels != NULL ? labels : h->labels;
    if (copy == NULL || labels == NULL) {
        free(copy);
        h->rc = no_memory(&h->e);
        return;
    }
    struct rt_channels_label *l = &h->labels[h->label_count++];
    l->channel = h->labelled;
    l->value = value;
    l->text = copy;
}

/* Adds the texts of 666 and 777, unless the channel has texts of its own for them. A channel
 * without any texts gets none: there 666 and 777 may be ordinary numbers. */
static void label_channel(struct h5 *h, uint32_t channel)
{
    size_t first = h->label_count;
    bool bad = true, several = true;
    replay_labels(h->replay, channel, keep_label, h);
    for (size_t i = first; i < h->label_count; i++) {
        bad = bad && h->labels[i].value != EMU_BAD;
        several = several && h->labels[i].value != EMU_TOO_MANY_THREADS;
    }
    if (bad && h->label_count != first)
        keep_label(h, EMU_BAD, "Unknown");
    if (several && h->label_count != first)
        keep_label(h, EMU_TOO_MANY_THREADS, "Several threads");
}

static void describe_channels(struct h5 *h)
{
    static const char *const kinds[] = {
        [EMU_SINGLE] = "single", [EMU_STACK] = "stack", [EMU_PUNCTUAL] = "punctual"};
    for (uint32_t k = 0; k < replay_channel_count(h->replay); k++) {
        struct replay_channel c = replay_channel(h->replay, k);
        h->channels[k] =
            (struct rt_channel_about){c.title,
                                      kinds[c.kind],
                                      c.paraver,
                                      {c.is_used && c.on_thread, c.is_used && c.on_processor}};
        h->labelled = h->names[k];
        if (c.is_used)
            label_channel(h, k);
        h->found->channels += c.is_used;
    }
}

static int describe_rows(struct h5 *h, struct rt_channels_about *about, struct rt_error *e)
{
    uint32_t threads, processors, nodes;
    const struct replay_thread *t = replay_threads(h->replay, &threads);
    const struct replay_processor *p = replay_processors(h->replay, &processors);
    const char *const *hosts = replay_nodes(h->replay, &nodes);
    h->threads = calloc(threads + 1u, sizeof *h->threads);
    h->processors = calloc(processors + 1u, sizeof *h->processors);
    if (h->threads == NULL || h->processors == NULL)
        return no_memory(e);
    for (uint32_t i = 0; i < threads; i++)
        h->threads[i] = (struct rt_channels_thread){i,           rt_rank_info(t[i].rank)->rank,
                                                    t[i].number, t[i].pid,
                                                    t[i].tid,    hosts[t[i].node],
                                                    t[i].name};
    for (uint32_t i = 0; i < processors; i++)
        h->processors[i] = (struct rt_channels_processor){i, p[i].number, hosts[p[i].node]};
    about->threads = h->threads;
    about->thread_count = threads;
    about->processors = h->processors;
    about->processor_count = processors;
    return 0;
}

/* Returns the texts of 0 to count - 1, separated by "; "; NULL if there is no memory. The caller
 * frees it. */
static char *joined(int count, const char *(*text)(int))
{
    size_t bytes = 1;
    for (int i = 0; i < count; i++)
        bytes += strlen(text(i)) + strlen("; ");
    char *out = calloc(1, bytes);
    for (int i = 0; out != NULL && i < count; i++)
        (void)strcat(i > 0 ? strcat(out, "; ") : out, text(i));
    return out;
}

static const char *reason_text(int why)
{
    return unmatched_text((enum unmatched_reason)why);
}

static const char *kind_text(int kind)
{
    return wait_kind_name((enum wait_kind)kind);
}

static int finish(struct h5 *h, const struct replay_options *options, struct rt_error *e)
{
    static const char *const policies[] = {
        [EMU_STRICT] = "strict", [EMU_LINT] = "lint", [EMU_SALVAGE] = "salvage"};
    struct rt_channels_about about = {.policy = policies[options->policy],
                                      .cpu = options->observed ? "observed" : "bound",
                                      .messages = messages_chosen(),
                                      .unmatched_collectives = h->unmatched_collectives,
                                      .end_ns = h->found->replay.end,
                                      .events = h->found->replay.events,
                                      .wrong = h->found->replay.wrong};
    about.origin_ns = replay_origin(h->replay, &about.realtime_ns);
    for (int i = 0; i < UNMATCHED_REASONS; i++) {
        about.unmatched_sends += h->unmatched.sends[i];
        about.unmatched_receives += h->unmatched.receives[i];
    }
    h->channels = calloc(replay_channel_count(h->replay) + 1u, sizeof *h->channels);
    about.reasons = h->reasons = joined(UNMATCHED_REASONS, reason_text);
    about.kinds = h->kinds = joined(WAIT_KINDS, kind_text);
    if (h->channels == NULL || h->reasons == NULL || h->kinds == NULL)
        return no_memory(e);
    describe_channels(h);
    about.channels = h->channels;
    about.labels = h->labels;
    about.label_count = h->label_count;
    int rc = describe_rows(h, &about, e);
    if (rc == 0 && h->rc != 0) {
        *e = h->e;
        rc = h->rc;
    }
    if (rc != 0)
        return rc;
    struct rt_channels *file = h->file;
    h->file = NULL;
    return rt_channels_finish(file, &about, e);
}

static int name_channels(struct h5 *h, struct rt_error *e)
{
    uint32_t count = replay_channel_count(h->replay);
    h->names = calloc(count + 1u, sizeof *h->names);
    if (h->names == NULL)
        return no_memory(e);
    for (uint32_t k = 0; k < count; k++)
        h->names[k] = replay_channel(h->replay, k).name;
    return 0;
}

int h5_write(struct event_replay *r, const struct replay_options *options, const char *path,
             struct h5_found *found, struct rt_error *e)
{
    struct h5 h = {.replay = r, .found = found};
    struct replay_sink sink = {.shows = shows, .event = go_on, .context = &h};
    *found = (struct h5_found){.changes = 0};
    int rc = name_channels(&h, e);
    if (rc == 0)
        rc = rt_channels_open(&h.file, path, h.names, replay_channel_count(r), e);
    if (rc == 0)
        rc = open_messages(&h, e);
    if (rc == 0)
        rc = replay_run(r, &sink, &found->replay, e);
    if (rc == 0)
        rc = end_messages(&h, e);
    if (rc == 0)
        rc = finish(&h, options, e);
    messages_close(h.messages);
    wait_states_close(h.waits);
    comms_close(h.comms);
    rt_channels_discard(h.file);
    for (size_t i = 0; i < h.label_count; i++)
        free((void *)h.labels[i].text);
    free(h.labels);
    free(h.reasons);
    free(h.kinds);
    free(h.processors);
    free(h.threads);
    free(h.channels);
    free((void *)h.names);
    return rc;
}
