/* SPDX-License-Identifier: BSD-3-Clause
 * Channels and rules from the models' tables, and what models and event_replay.c share. For
 * tools/channels alone. */
#ifndef REGTRACE_TOOLS_CHANNELS_MODELS_H
#define REGTRACE_TOOLS_CHANNELS_MODELS_H

#include "tools/channels/function_numbers.h"
#include "tools/name_numbers.h"
#include "tools/channels/event_replay.h"

/* Numbers of channels; CHANNELS gives the first of several. */
enum channel_number {
#define CHANNEL(number, ...) CHANNEL_##number,
#define CHANNELS(number, many, ...)                                                                \
    CHANNEL_##number, CHANNEL_##number##_LAST = CHANNEL_##number + (many)-1,
#define EVENT(...)
#include "tools/channels/models.def"
#undef CHANNEL
#undef CHANNELS
#undef EVENT
    CHANNEL_COUNT,
    CHANNEL_NONE = CHANNEL_COUNT,
};

/* Texts of a channel's values 0 to `last`. If `known` is set, up to the value that it returns: such
 * values become known with the run. */
struct labels {
    int64_t last;
    int64_t (*known)(const struct event_replay *r, uint32_t channel);
    /* For stacks that are recorded in windows only: the text of EMU_NOT_RECORDED, which they show
     * outside of windows. NULL: they show 0 there. */
    const char *unrecorded;
    const char *(*text)(const struct event_replay *r, uint32_t channel, int64_t value,
                        char room[64]);
};

enum model_action {
    ACTION_NOTHING,
    ACTION_PUSH,
    ACTION_POP,
    ACTION_END, /* a pop, unless the begin lies outside the window */
    ACTION_SET,
    ACTION_TELL, /* a punctual event */
    ACTION_CALL, /* the hook does everything */
};

/* Sets *value for the event's action; for ACTION_CALL, does everything. */
typedef int model_hook(struct event_replay *r, const struct stream_record *rec, int64_t *value,
                       struct rt_error *e);

struct model_rule {
    uint32_t code;
    bool any; /* any value of the code's third byte */
    enum model_action action;
    uint32_t channel;
    model_hook *hook;
};
extern const struct model_rule model_rules[];
extern const uint32_t model_rule_count;

struct model_channel {
    struct emu_channel channel;
    uint32_t paraver, index; /* index: number within its CHANNELS */
    const struct labels *labels;
    char name[24], title[128];
};
/* Does the channel show EMU_NOT_RECORDED outside of windows? */
bool model_is_unrecorded(const struct model_channel *c);
/* Writes the descriptions of all CHANNEL_COUNT channels. */
void models_channels(struct model_channel *out);

#define EVENT(code, values, action, channel, hook) model_hook hook;
#define CHANNEL(...)
#define CHANNELS(...)
#include "tools/channels/models.def"
#undef CHANNEL
#undef CHANNELS
#undef EVENT

/* An MPI call that the thread has entered and not left. */
struct open_call {
    uint32_t function;
    int64_t activity, bytes, peer, comm;
};

/* What is known about a thread while no MPI call is open whose begin was recorded. */
enum row_activity {
    ROW_KNOWN,
    ROW_IN_GAP,     /* its events are lost now */
    ROW_BEHIND_GAP, /* may be in a call that began in the gap, until the next one begins or ends */
};

/* One thread. */
struct replay_row {
    uint64_t left;  /* events still to come */
    uint32_t calls; /* open calls; the stack refuses those beyond EMU_STACK_MAX */
    size_t call_room;
    struct open_call *open;
    bool in_window;
    /* Events of this window are lost: an end may belong to a begin in the gap or before it. */
    bool has_lost;
    enum row_activity activity;
    int32_t window; /* ordinal of its window */
    int32_t bound;  /* row of the processor that it is bound to */
};

/* Events of that thread are lost from `ns` on. EV_DROPPED marks the end of the gap, in that window
 * (-1: in none). */
struct replay_gap {
    int64_t ns;
    uint32_t stream;
    int32_t window;
};

enum { MARKS = CHANNEL_REGION_MARK_LAST - CHANNEL_REGION_MARK + 1 };

struct mark_label {
    int64_t value;
    uint32_t text; /* number in replay.marks */
};

struct event_replay {
    struct emu *emu;
    struct streams *streams;
    const struct thread_stream *all;
    struct function_numbers *functions;
    struct replay_options options;
    struct replay_row *rows; /* by stream */
    struct replay_thread *threads;
    uint32_t thread_count, file_count;
    struct replay_processor *processors;
    uint32_t processor_count;
    const char **nodes;
    uint32_t node_count;
    int32_t *first_processor; /* by node: first row; its virtual processor is the last */
    struct model_channel channels[CHANNEL_COUNT];
    struct emu_channel emu_channels[CHANNEL_COUNT];
    bool used[CHANNEL_COUNT], told[CHANNEL_COUNT];
    uint64_t events;
    struct names regions, levels, alarms, marks, counters[3];
    struct mark_label *mark_labels[MARKS];
    uint32_t mark_label_count[MARKS];
    bool mark_known[MARKS];
    struct replay_gap *gaps; /* in the order of time */
    size_t gap_count, gap_room, next_gap;
    const struct replay_sink *sink;
    int64_t origin, realtime;
    struct replay_found found;
    uint16_t rule_of[65536]; /* by the low 2 bytes of the code: rule + 1 */
};

extern const struct labels labels_of_states, labels_of_processors, labels_of_flushes, labels_of_mpi,
    labels_of_activities, labels_of_comms, labels_of_windows, labels_of_names, labels_of_signals,
    labels_of_marks, labels_of_functions;
/* In mpi/mpi_model.c. mpi_activity() returns the value of mpi.activity during a call of this
 * function (0 to 767). mpi_show() shows the innermost MPI call of a thread, or that there is
 * none. */
int64_t mpi_activity(uint32_t function);
RT_MUST_CHECK int mpi_show(struct event_replay *r, uint32_t stream, struct rt_error *e);

static inline const struct rt_rank *replay_rank_of(const struct event_replay *r,
                                                   const struct stream_record *rec)
{
    return r->all[rec->stream].rank;
}
/* Empties all stacks of a thread, as its window is over. spoiled: the real contents are not
 * known. */
void replay_settle(struct event_replay *r, uint32_t stream, bool spoiled);
/* Notes that a window of the thread begins (recorded) or ends. Outside of windows, its channels
 * show EMU_NOT_RECORDED. */
void replay_recorded(struct event_replay *r, uint32_t stream, bool recorded);
/* Moves a thread to a processor row. */
RT_MUST_CHECK int replay_moves(struct event_replay *r, uint32_t stream, int32_t processor,
                               struct rt_error *e);
RT_MUST_CHECK int replay_no_memory(struct rt_error *e);

/* rows.c: finds threads, nodes and processors of the run. */
RT_MUST_CHECK int replay_make_rows(struct event_replay *r, struct rt_error *e);
/* Returns the row of a processor of a node, or of the node's virtual one if it has no such
 * processor. */
int32_t replay_processor_row(const struct event_replay *r, uint32_t node, int32_t number);
/* gaps.c. replay_find_gaps() finds all gaps of the run. replay_gap_begins(): from here on, channels
 * of the gap's thread show EMU_BAD, or 0 if EMU_BAD may be a real number. replay_gap_ends() takes
 * the event that marks the end of a gap. */
RT_MUST_CHECK int replay_find_gaps(struct event_replay *r, struct rt_error *e);
RT_MUST_CHECK int replay_gap_begins(struct event_replay *r, const struct replay_gap *g,
                                    struct rt_error *e);
RT_MUST_CHECK int replay_gap_ends(struct event_replay *r, const struct stream_record *rec,
                                  struct rt_error *e);
/* health.c: checks what files report about themselves. */
RT_MUST_CHECK int replay_check_files(const struct event_replay *r, const struct rt_run *run,
                                     struct rt_error *e);

#endif
