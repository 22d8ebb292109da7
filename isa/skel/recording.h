/* SPDX-License-Identifier: BSD-3-Clause
 * Files of base/memory.h, replayed. */
#ifndef REGTRACE_ISA_SKEL_RECORDING_H
#define REGTRACE_ISA_SKEL_RECORDING_H

#include "isa/skel/replay.h"

#include <stdbool.h>

enum recording_format {
    RECORDING_TEXT, /* pc, R W or M, bytes, address */
    RECORDING_LACKEY, /* as valgrind --tool=lackey --trace-mem=yes has them: " L 04222c30,8", without the instructions */
    RECORDING_COUNT, /* sums alone */
};

struct recording_wishes {
    enum recording_format format;
    int64_t first, last; /* windows */
};

/* The file at `path`, by its compiled skeleton, to standard output. 0, or -errno with the text: -EINVAL where it is damaged. */
RT_MUST_CHECK int recording_replay(const char *path, const char *skeleton,
                                   const struct recording_wishes *w, struct rt_error *e);

#endif
