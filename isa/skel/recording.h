/* SPDX-License-Identifier: BSD-3-Clause
 * Files of base/memory.h, replayed. */
#ifndef REGTRACE_ISA_SKEL_RECORDING_H
#define REGTRACE_ISA_SKEL_RECORDING_H

#include "isa/skel/replay.h"

#include <stdbool.h>

enum recording_format {
    RECORDING_TEXT, /* pc, R W or M, bytes, address */
    RECORDING_LACKEY, /* as valgrind --tool=lackey --trace-mem=yes has them: " L 04222c30,8", without the instructions */
    RECORDING_COUNT, /* sums alone; of what was recorded, if skeletons are compiled with SKELETON_COUNTS */
};

struct recording_wishes {
    enum recording_format format;
    int64_t first, last; /* windows */
};

/* Compiled skeletons: of each image of the recording, in its order ("": nothing of it is entered); and of what was met as the program ran,
 * NULL: none was. */
struct recording_skeletons {
    const char *const *images;
    unsigned count;
    const char *late;
};

/* The file at `path` to standard output. 0, or -errno with the text: -EINVAL where it is damaged. */
RT_MUST_CHECK int recording_replay(const char *path, const struct recording_skeletons *skeletons,
                                   const struct recording_wishes *w, struct rt_error *e);

#endif
