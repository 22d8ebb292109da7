/* SPDX-License-Identifier: BSD-3-Clause
 * Channels: what a timeline shows of each thread and each processor, one number at each moment.
 *
 * Models (mpi, func ...) change channels of threads as they process an event; emu_emit() then
 * reports the changed values to the output, from the event's time on. Channels of processors
 * automatically follow the threads that run there.
 *
 * Source: ovni's emulator; numbers of states are the same as there. Times are in ns; events come in
 * the order of time. Functions that can fail return 0, or -errno with the reason in *e, and then
 * leave the emulator unchanged. */
#ifndef REGTRACE_TOOLS_CHANNELS_EMU_H
#define REGTRACE_TOOLS_CHANNELS_EMU_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMU_STACK_MAX = 512 };

/* Shown if there is no right value. EMU_BAD: the value is not known, or the thread on that
 * processor has the channel disabled. EMU_TOO_MANY_THREADS: more than one thread is on that
 * processor. */
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
    EMU_SINGLE,   /* emu_set(): values from 0 on */
    EMU_STACK,    /* emu_push(), emu_pop(): values from 1 on; shows the top, or 0 */
    EMU_PUNCTUAL, /* emu_event(): values from 1 on, shown for the 1 ns before the event */
};

/* When a channel of a thread shows its value; otherwise it is disabled and shows `bad`. For a
 * processor: which threads its channel follows. */
enum emu_track { EMU_ALWAYS, EMU_WHILE_RUNNING, EMU_WHILE_ACTIVE };

/* Description of a channel: a row of a model's table. */
struct emu_channel {
    const char *name, *title; /* "mpi.function"; text for people */
    enum emu_kind kind;
    enum emu_track thread;
    bool on_processor; /* processors have the channel too */
    /* Which threads it follows on a processor. EMU_ALWAYS: none, the model calls
     * emu_set_processor(). */
    enum emu_track processor;
    bool repeats; /* setting the present value again is no error */
    int32_t bad;  /* shown while disabled */
    bool lazy;    /* initially 0, and not reported until a thread's value changes */
};

struct emu_output {
    /* Reports that, from `time` on, `row` shows `value` on that channel. processor: the row is a
     * processor's. Times of punctual channels may be 1 ns earlier than times reported before. */
    void (*shows)(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value);
    void *context;
};

struct emu;

/* Opens an emulator; `channels` must outlive it. All threads are EMU_UNKNOWN and on no processor
 * (-1). Returns NULL if there is no memory. */
struct emu *emu_open(const struct emu_channel *channels, uint32_t channel_count, uint32_t threads,
                     uint32_t processors, struct emu_output output) RT_MUST_CHECK;
void emu_close(struct emu *m);

/* Reports the initial values of all channels, except lazy ones. */
void emu_begin(struct emu *m, int64_t time);

RT_MUST_CHECK int emu_set(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                          struct rt_error *e);
RT_MUST_CHECK int emu_push(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                           struct rt_error *e);
/* value: the expected top of the stack. */
RT_MUST_CHECK int emu_pop(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                          struct rt_error *e);
RT_MUST_CHECK int emu_event(struct emu *m, uint32_t thread, uint32_t channel, int64_t value,
                            struct rt_error *e);
RT_MUST_CHECK int emu_set_processor(struct emu *m, uint32_t processor, uint32_t channel,
                                    int64_t value, struct rt_error *e);

/* Change the state of a thread, or its processor (-1: none). They enable or disable its channels;
 * those of its processor follow. */
RT_MUST_CHECK int emu_thread_is(struct emu *m, uint32_t thread, enum emu_state state,
                                struct rt_error *e);
RT_MUST_CHECK int emu_thread_moves(struct emu *m, uint32_t thread, int32_t processor,
                                   struct rt_error *e);

enum emu_state emu_thread_state(const struct emu *m, uint32_t thread);
int32_t emu_thread_processor(const struct emu *m, uint32_t thread);
/* Returns whether the channel is not lazy, or some thread's value of it has changed. */
bool emu_is_awake(const struct emu *m, uint32_t channel);
/* Returns how many threads run on the processor. */
uint32_t emu_running(const struct emu *m, uint32_t processor);
/* Returns the number of values on a stack. */
uint32_t emu_depth(const struct emu *m, uint32_t thread, uint32_t channel);

/* Sets the value that this stack shows while it is empty (initially 0). */
void emu_rest(struct emu *m, uint32_t thread, uint32_t channel, int64_t value);

/* Empties a stack and resets the value. spoiled: the emulation continues after an event that cannot
 * be right; the channel shows EMU_BAD until its next change. */
void emu_clear(struct emu *m, uint32_t thread, uint32_t channel, bool spoiled);

/* Reports all changes since the last call. */
void emu_emit(struct emu *m, int64_t time);

/* Checks that all stacks are empty and all threads that have begun are dead. If not, returns
 * -EINVAL with the first finding in *e. */
RT_MUST_CHECK int emu_end(const struct emu *m, struct rt_error *e);

#endif
