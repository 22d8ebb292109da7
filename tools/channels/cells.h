/* SPDX-License-Identifier: BSD-3-Clause
 * State that the emulator keeps of channels, threads and processors. Only emu.c includes it. */
#ifndef REGTRACE_TOOLS_CHANNELS_CELLS_H
#define REGTRACE_TOOLS_CHANNELS_CELLS_H

#include "tools/channels/emu.h"

enum { NOTHING = -1 /* nothing reported yet */ };

struct cell {
    int64_t value;  /* stack: its top, or `rest`; punctual: the event to report, or 0 */
    int64_t shown;  /* value reported last */
    int64_t rest;   /* value of an empty stack; else 0 */
    int64_t *stack; /* EMU_STACK_MAX values; allocated at the first push */
    uint32_t depth;
    bool dirty, spoiled;
};

struct channel_thread {
    enum emu_state state;
    int32_t processor;
    uint32_t tracked; /* a bit for each emu_track that is true now */
};

/* A set of threads: how many, and the exclusive or of their numbers. Of one thread that is its
 * number. */
struct group {
    uint32_t count, numbers;
};

struct processor {
    struct group running, active;
};

/* Cells by row and channel. `dirty` lists the cells to report, in the order of their changes. */
struct emu {
    const struct emu_channel *channels;
    uint32_t channel_count, thread_count, processor_count;
    struct emu_output output;
    struct channel_thread *threads;
    struct processor *processors;
    struct cell *cells; /* of threads, then of processors */
    bool *awake;        /* by channel: it has something to report */
    struct dirty_cell {
        struct cell *cell;
        uint32_t row, channel;
    } * dirty;
    uint32_t dirty_count;
};

#endif
