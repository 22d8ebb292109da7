/* SPDX-License-Identifier: BSD-3-Clause
 * Channels: what a timeline shows of each thread and each processor, one number at each moment.
 *
 * Models (mpi, func ...) change channels of threads while an event is looked at; emu_emit() then tells the output what is to be seen
 * from that time on, changes alone. Channels of processors follow the threads that run there by themselves.
 *
 * Source: seeds/003 (ovni's channels), shared/channels.md. Numbers of states are ovni's. Times are in ns; all events come in the
 * order of time. Functions that can fail return 0 or -errno and have the reason in *e, and leave the emulator as it was. */
#ifndef REGTRACE_TOOLS_CHANNELS_EMU_H
#define REGTRACE_TOOLS_CHANNELS_EMU_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMU_STACK_MAX = 512 };

/* Seen where nothing right can be: what runs there shows nothing itself; more than one thread runs there. */
enum { EMU_BAD = 666, EMU_TOO_MANY_THREADS = 777 };
/* Shown outside of windows by channels that are recorded in windows only. Larger than any
 * function's number. */
enum { EMU_NOT_RECORDED = 888888888 };

enum emu_state {
    EMU_UNKNOWN,
    EMU_RUNNING,
    EMU_PAUSED,
    EMU_DEAD,
    EMU_COOLING,
    EMU_WARMING,
};
/* Active threads: running, cooling or warming. */
static inline bool emu_state_is_active(enum emu_state s)
{
    return s == EMU_RUNNING || s == EMU_COOLING || s == EMU_WARMING;
}
static inline const char *emu_state_name(enum emu_state s)
{
    static const char *const names[] = {"unknown", "running", "paused",
                                        "dead",    "cooling", "warming"};
    return names[s];
}

enum emu_kind {
    EMU_SINGLE,   /* emu_set(): a value from 0 on */
    EMU_STACK,    /* emu_push(), emu_pop(): values from 1 on; the top is seen, 0 without one */
    EMU_PUNCTUAL, /* emu_event(): a value from 1 on, seen for 1 ns: from the event's time - 1 */
};

/* When a channel shows what it holds; else it is disabled and shows `bad`. Of a processor: which threads it follows. */
enum emu_track { EMU_ALWAYS, EMU_WHILE_RUNNING, EMU_WHILE_ACTIVE };

/* What a channel is: a row of a model's table. */
struct emu_channel {
    const char *name, *title; /* "mpi.function"; for people */
    enum emu_kind kind;
    enum emu_track thread;
    bool on_processor; /* each processor has one too, which follows the thread there */
    enum emu_track
        processor; /* of which threads; EMU_ALWAYS: the model itself sets it by emu_set_processor() */
    bool repeats; /* the value that is there may be set again; else that is an error */
    int32_t bad;  /* seen while disabled */
    bool lazy;    /* 0 at first; nothing is told of it until one is changed */
};

struct emu_output {
    /* From `time` on `row` shows `value` on that channel. processor: the row is a processor's. Times of punctual channels may be
     * 1 ns before those that were told already. */
    void (*shows)(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value);
    void *context;
};

struct emu;

/* channels: for as long as the emulator. Threads are unknown, on no processor (-1). NULL: no memory. */
struct emu *emu_open(const struct emu_channel *channels, uint32_t channel_count, uint32_t threads,
                     uint32_t processors, struct emu_output output) RT_MUST_CHECK;
void emu_close(struct emu *m);

/* What is seen at first, of all. */
void emu_begin(struct emu *m, int64_t time);

RT_MUST_CHECK int emu_set(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                          struct rt_error *e);
RT_MUST_CHECK int emu_push(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                           struct rt_error *e);
/* value: what is expected on top. */
RT_MUST_CHECK int emu_pop(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                          struct rt_error *e);
RT_MUST_CHECK int emu_event(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                            struct rt_error *e);
RT_MUST_CHECK int emu_set_processor(struct emu *m, uint32_t processor, uint32_t channel,
                                    int64_t value, struct rt_error *e);

/* The channels that follow it are enabled or disabled; those of its processor follow. -1: on none. */
RT_MUST_CHECK int emu_thread_is(struct emu *m, uint32_t thread, enum emu_state state,
                                struct rt_error *e);
RT_MUST_CHECK int emu_thread_moves(struct emu *m, uint32_t thread, int32_t processor,
                                   struct rt_error *e);

enum emu_state emu_thread_state(const struct emu *m, uint32_t thread);
int32_t emu_thread_processor(const struct emu *m, uint32_t thread);
/* It is not lazy, or some thread's has changed. */
bool emu_is_awake(const struct emu *m, uint32_t channel);
/* How many threads run there. */
uint32_t emu_running(const struct emu *m, uint32_t processor);
/* Values on a stack. */
uint32_t emu_depth(const struct emu *m, uint32_t thread, uint32_t channel);

/* Sets the value that this stack shows while it is empty (0 at first). */
void emu_rest(struct emu *m, uint32_t thread, uint32_t channel, int64_t value);

/* Its stack is empty, its value 0. spoiled: after something that cannot be right, where that is to be gone on with: it shows EMU_BAD until it
 * is changed again. */
void emu_clear(struct emu *m, uint32_t thread, uint32_t channel, bool spoiled);

/* What has changed is told. */
void emu_emit(struct emu *m, int64_t time);

/* Nothing is left on stacks, and all threads are dead: -EINVAL where not, with the first in *e. */
RT_MUST_CHECK int emu_end(const struct emu *m, struct rt_error *e);

#endif
