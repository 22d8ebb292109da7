/* SPDX-License-Identifier: BSD-3-Clause
 * Files of base/format/memory.h, replayed. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_RECORDING_H
#define REGTRACE_ISA_MEMORY_REPLAY_RECORDING_H

#include "isa/memory/replay/replay.h"

#include <stdbool.h>

/* What is known of a stretch as it begins. */
struct recording_stretch {
    struct accesses_whose whose;
    bool known;     /* how long it is, and how it ended: of one that is followed that comes later */
    uint64_t bytes; /* of the recording */
    uint32_t end;   /* enum memory_end, or ACCESSES_OPEN */
};

/* What was made of it; and read for that, if skeletons are compiled with SKELETON_COUNTS. */
struct recording_sums {
    uint64_t accesses, entered, values, outcomes;
    uint64_t missing_count,
        missing_first; /* times that a place's function was not recorded from there on; the first such */
};

/* Where accesses go. Functions return 0 or an errno, which ends it all. */
struct recording_sink {
    int (*begin)(void *context, const struct recording_stretch *s);
    replay_sink put;
    /* Now all of it is known. */
    int (*end)(void *context, const struct recording_stretch *s, const struct recording_sums *sums);
    /* Nothing more comes for a while. */
    int (*rest)(void *context);
    void *context;
};

/* Of a program that still runs, by a process that knows when it has ended and can compile: lines to `ask`, what that says on `answers`,
 * which is closed when the run has ended.
 *
 *     need NUMBER OFFSET\n      that function is entered, where its log has been read up to that offset;
 *                               answered with IMAGE PATH\n, the compiled skeleton (image -1: the late one), or with none\n
 *     at PLACE\n                there is no further stretch yet: where in the log the next one will stand; MEMORY_OPEN: there will be none */
struct recording_follow {
    bool is; /* else a recording ends with what it has now */
    int ask, answers;
    uint64_t from; /* that place */
};

struct recording_wishes {
    int64_t first, last; /* windows */
    struct recording_follow follow;
};

/* Compiled skeletons: of each image of the recording, in its order ("": nothing of it is entered); and of what was met as the program ran,
 * NULL: none was. */
struct recording_skeletons {
    const char *const *images;
    unsigned count;
    const char *late;
};

/* The stretches of the file at `path`, in their order. 0, or -errno with the text: -EINVAL where it is damaged. Of what the sink returned: that,
 * negative. */
RT_MUST_CHECK int recording_replay(const char *path, const struct recording_skeletons *skeletons,
                                   const struct recording_wishes *w,
                                   const struct recording_sink *sink, struct rt_error *e);

#endif
