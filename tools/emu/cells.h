/* SPDX-License-Identifier: BSD-3-Clause
 * What the emulator holds of channels, threads and processors. Of emu.c alone. */
#ifndef REGTRACE_TOOLS_EMU_CELLS_H
#define REGTRACE_TOOLS_EMU_CELLS_H

#include "tools/emu/emu.h"

enum { NOTHING = -1 /* told so far */ };

struct cell {
    int64_t value;  /* a stack: its top, or `rest`; punctual: the event to be told, or 0 */
    int64_t shown;  /* told last */
    int64_t rest;   /* of an empty stack, else 0 */
    int64_t *stack; /* EMU_STACK_MAX values, from the first push on */
    uint32_t depth;
    bool dirty, spoiled;
};

struct thread {
    enum emu_state state;
    int32_t processor;
    uint32_t tracked; /* a bit for each emu_track that holds now */
};

/* Threads of which something holds, and all their numbers by exclusive or: the number, where it is one. */
struct group {
    uint32_t count, numbers;
};

struct processor {
    struct group running, active;
};

/* Cells by row and channel; those to be told in the order in which they were changed. */
struct emu {
    const struct emu_channel *channels;
    uint32_t channel_count, thread_count, processor_count;
    struct emu_output output;
    struct thread *threads;
    struct processor *processors;
    struct cell *cells; /* of threads, then of processors */
    bool *awake;        /* by channel: there is something to tell */
    struct place {
        struct cell *cell;
        uint32_t row, channel;
    } * dirty;
    uint32_t dirty_count;
};

#endif
