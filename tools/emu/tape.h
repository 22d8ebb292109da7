/* SPDX-License-Identifier: BSD-3-Clause
 * What channels showed, put into the order of time, and states with their ends, which are known later. Handed on in pieces: a state that
 * goes on longer than a piece is handed on as several, each beginning where the one before ends.
 *
 * Memory: 8 MiB, or 256 bytes a row where that is more. */
#ifndef REGTRACE_TOOLS_EMU_TAPE_H
#define REGTRACE_TOOLS_EMU_TAPE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taped {
    int64_t time, value;
    int64_t end; /* of a state; TAPE_EVENT: it is none */
    uint32_t row;
    uint16_t channel;
    bool processor;
};
#define TAPE_EVENT (-1)

struct tape;

/* take: gets the next ones, in the order of time. NULL: no memory. */
struct tape *tape_open(uint32_t threads, uint32_t processors,
                       void (*take)(void *context, const struct taped *first, size_t count),
                       void *context) RT_MUST_CHECK;
void tape_close(struct tape *t);

/* Times go back by 1 ns at most. state: it ends the row's state before it. */
void tape_put(struct tape *t, bool processor, uint32_t row, uint16_t channel, int64_t time,
              int64_t value, bool state);
/* All states end, and the rest is handed on. */
void tape_end(struct tape *t, int64_t end);

#endif
