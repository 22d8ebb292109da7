/* SPDX-License-Identifier: BSD-3-Clause
 * A run's events, in the order of time, through the models (a table each: ovni/, mpi/, region/, func/, pmu/, sample/) to whoever shows
 * channels: Paraver's files, the channels' file, timelines.
 *
 * Rows: threads, by rank, file and number; processors, by node and number, each node's virtual one (for threads that may run on
 * several) last. Times are ns from the run's origin, its first event. Functions that can fail return 0 or -errno and have the reason,
 * with the remedy, in *e. */
#ifndef REGTRACE_TOOLS_CHANNELS_REPLAY_H
#define REGTRACE_TOOLS_CHANNELS_REPLAY_H

#include "tools/channels/emu.h"
#include "tools/streams/streams.h"

enum emu_policy {
    EMU_STRICT, /* stops at the first thing that is not right, before it begins where files say so */
    EMU_LINT,   /* and at the end stacks must be empty and threads dead */
    EMU_SALVAGE, /* marks it EMU_BAD, goes on, counts */
};

struct replay_options {
    enum emu_policy policy;
    bool observed; /* threads are where each event was recorded, not where they are bound to */
    struct rank_list ranks;
    /* Under EMU_SALVAGE: what is not right (the first of it), and files that cannot be read. May be NULL. */
    void (*told)(const char *text);
    void (*skipped)(const char *file, const char *why);
};

struct replay_thread {
    const struct rt_rank *rank;
    int32_t number;    /* in its file */
    uint32_t file;     /* its process, from 0 */
    uint32_t pid, tid; /* the kernel's; tid 0: unknown */
    uint32_t node;
    const char *name; /* of the thread, "" unknown */
};

struct replay_processor {
    uint32_t node;
    int32_t number; /* -1: the virtual one */
};

struct replay_channel {
    const char *name, *title;     /* "mpi.function"; marks and counters: known at the end */
    uint32_t paraver;             /* type of its events, 0: states */
    bool is_used;                 /* has shown another value than 0, known at the end */
    bool is_told;                 /* something was told of it, if only that it is 0 at first */
    bool on_thread, on_processor; /* which rows have it */
    enum emu_kind kind;
};

struct replay_sink {
    /* As struct emu_output; also where each channel begins, unless it is one that says nothing until it is used. */
    void (*shows)(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value);
    /* Every event, before what it changes is shown; may be NULL. 0 or -errno: the replay ends. */
    int (*event)(void *context, const struct emu_record *r, int64_t time, struct rt_error *e);
    /* From then on events of that thread are lost, before what that changes is shown; may be NULL. */
    void (*gap)(void *context, uint32_t stream, int64_t time);
    void *context;
};

struct replay_found {
    uint64_t events;
    uint64_t wrong; /* under EMU_SALVAGE */
    int64_t end;    /* time of the last event */
};

struct replay;

/* Under EMU_STRICT and EMU_LINT files of processes that were killed, that have lost events or are not closed are refused, all causes in
 * *e. The run must outlive it. */
RT_MUST_CHECK int replay_open(struct replay **replay, const struct rt_run *run,
                              const struct replay_options *options, struct rt_error *e);
void replay_close(struct replay *r);

const struct replay_thread *replay_threads(const struct replay *r, uint32_t *count);
const struct replay_processor *replay_processors(const struct replay *r, uint32_t *count);
uint32_t replay_file_count(const struct replay *r);
/* Host names. */
const char *const *replay_nodes(const struct replay *r, uint32_t *count);
uint32_t replay_channel_count(const struct replay *r);
struct replay_channel replay_channel(const struct replay *r, uint32_t channel);
struct emu_streams *replay_streams(const struct replay *r);
uint64_t replay_event_count(const struct replay *r);
/* The origin: CLOCK_MONOTONIC of rank 0's node, and since 1970 (0: unknown). Valid once the replay has begun. */
int64_t replay_origin(const struct replay *r, int64_t *realtime_ns);

/* Once. */
RT_MUST_CHECK int replay_run(struct replay *r, const struct replay_sink *sink,
                             struct replay_found *found, struct rt_error *e);

/* What values of a channel mean, by value; those known so far. */
void replay_labels(const struct replay *r, uint32_t channel,
                   void (*label)(void *context, int64_t value, const char *text), void *context);

#endif
