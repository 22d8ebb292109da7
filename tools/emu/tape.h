/* SPDX-License-Identifier: BSD-3-Clause
 * What channels showed, in the order of time, on disk: written once, read once. States have an end, which is known later.
 *
 * Memory: two MiB and 8 bytes a row. Functions that can fail return 0 or -errno and have the reason in *e. */
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

/* In a file without a name in that folder. */
RT_MUST_CHECK int tape_open(struct tape **tape, const char *dir, uint32_t threads,
                            uint32_t processors, struct rt_error *e);
void tape_close(struct tape *t);

/* Times go back by 1 ns at most. state: it ends the row's state before it. What fails is told by tape_rewind(). */
void tape_put(struct tape *t, bool processor, uint32_t row, uint16_t channel, int64_t time,
              int64_t value, bool state);
/* All states end. From here on it is read. */
RT_MUST_CHECK int tape_rewind(struct tape *t, int64_t end, struct rt_error *e);
/* The next ones; *count 0: there are no more. Valid until the next call. */
RT_MUST_CHECK int tape_next(struct tape *t, const struct taped **first, size_t *count,
                            struct rt_error *e);

#endif
