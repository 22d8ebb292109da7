/* SPDX-License-Identifier: BSD-3-Clause
 * Passes a run's events, in the order of time, through the models (one table each: ovni/, mpi/,
 * region/, func/, pmu/, sample/) to a sink that shows channels: Paraver's files, the channels'
 * file, timelines.
 *
 * Rows are threads, by rank, file and number; and processors, by node and number. Each node's
 * virtual processor comes last; threads that may run on several processors are there. Times are ns
 * from the run's origin, its first event. Functions that can fail return 0, or -errno with the
 * reason and the remedy in *e. */
#ifndef REGTRACE_TOOLS_CHANNELS_EVENT_REPLAY_H
#define REGTRACE_TOOLS_CHANNELS_EVENT_REPLAY_H

#include "tools/channels/emu.h"
#include "tools/streams/streams.h"

enum emu_policy {
    /* Stops at the first error; does not even begin if files are incomplete. */
    EMU_STRICT,
    /* As EMU_STRICT; at the end, stacks must also be empty and threads dead. */
    EMU_LINT,
    /* Marks errors as EMU_BAD, continues, and counts them. */
    EMU_SALVAGE,
};

struct replay_options {
    enum emu_policy policy;
    bool observed;    /* a thread is where each event was recorded, not where it is bound to */
    bool no_channels; /* the sink gets the events alone */
    struct rank_list ranks;
    /* Under EMU_SALVAGE: receive the first errors, and files that cannot be read. told may be
     * NULL. */
    void (*told)(void *context, const char *text);
    void *context;
    struct skipped_files skipped;
};

struct replay_thread {
    const struct rt_rank *rank;
    int32_t number;    /* number in its file */
    uint32_t file;     /* number of its process, from 0 */
    uint32_t pid, tid; /* the kernel's ids; tid 0: unknown */
    uint32_t node;
    const char *name; /* name of the thread; "": unknown */
};

struct replay_processor {
    uint32_t node;
    int32_t number; /* -1: the virtual one */
};

struct replay_channel {
    const char *name, *title; /* "mpi.function"; those of marks and counters are known at the end */
    uint32_t paraver;         /* Paraver's type of its events; 0: states */
    bool is_used;             /* has shown a value other than 0; known at the end */
    bool is_told;             /* something was reported, even if only an initial 0 */
    bool on_thread, on_processor; /* which rows have the channel */
    enum emu_kind kind;
};

struct replay_sink {
    /* As in struct emu_output. Also reports initial values, except those of lazy channels. */
    void (*shows)(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value);
    /* Receives every event, before its changes are shown; may be NULL. Returns 0, or -errno to end
     * the replay. */
    int (*event)(void *context, const struct stream_record *r, int64_t time, struct rt_error *e);
    /* From `time` on, events of that thread are lost; called before the change is shown. May be
     * NULL. */
    void (*gap)(void *context, uint32_t stream, int64_t time);
    void *context;
};

struct replay_found {
    uint64_t events;
    uint64_t wrong; /* errors, under EMU_SALVAGE */
    int64_t end;    /* time of the last event */
};

struct event_replay;

/* Opens a replay; the run must outlive it. EMU_STRICT and EMU_LINT refuse files of killed
 * processes, files that are not closed and files with lost events; *e has all causes. */
RT_MUST_CHECK int replay_open(struct event_replay **replay, const struct rt_run *run,
                              const struct replay_options *options, struct rt_error *e);
void replay_close(struct event_replay *r);

const struct replay_thread *replay_threads(const struct event_replay *r, uint32_t *count);
const struct replay_processor *replay_processors(const struct event_replay *r, uint32_t *count);
uint32_t replay_file_count(const struct event_replay *r);
/* Returns the host names. */
const char *const *replay_nodes(const struct event_replay *r, uint32_t *count);
uint32_t replay_channel_count(const struct event_replay *r);
struct replay_channel replay_channel(const struct event_replay *r, uint32_t channel);
struct streams *replay_streams(const struct event_replay *r);
uint64_t replay_event_count(const struct event_replay *r);
/* Returns the origin in CLOCK_MONOTONIC of rank 0's node, and sets *realtime_ns to the origin since
 * 1970 (0: unknown). Valid once the replay has begun. */
int64_t replay_origin(const struct event_replay *r, int64_t *realtime_ns);

/* Runs the replay; may be called once. */
RT_MUST_CHECK int replay_run(struct event_replay *r, const struct replay_sink *sink,
                             struct replay_found *found, struct rt_error *e);

/* Passes the texts of a channel's values to `label`, in the order of values; only those known so
 * far. */
void replay_labels(const struct event_replay *r, uint32_t channel,
                   void (*label)(void *context, int64_t value, const char *text), void *context);

#endif
