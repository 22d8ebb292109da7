/* SPDX-License-Identifier: BSD-3-Clause
 * Replays recordings, the files of base/format/memory_recording.h. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_REPLAY_RECORDING_H
#define REGTRACE_ISA_MEMORY_REPLAY_REPLAY_RECORDING_H

#include "isa/memory/replay/skeleton_host.h"

#include <stdbool.h>

/* The facts about a segment when it begins; `known` and later fields may change until its end. */
struct recording_segment {
    struct accesses_whose whose;
    /* length and end are known; not yet, if the segment is followed while it grows */
    bool known;
    uint64_t bytes; /* length in the recording */
    uint32_t end;   /* enum memory_end, or ACCESSES_OPEN */
};

/* Results of a segment. Values and outcomes are read numbers, if skeletons are compiled with
 * SKELETON_COUNTS. */
struct recording_sums {
    uint64_t accesses, entered, values, outcomes;
    /* times that a function was not recorded from a place on; the first such place */
    uint64_t missing_count, missing_first;
};

/* Receives the accesses. Functions return 0, or an errno value, which ends the replay. */
struct recording_sink {
    int (*begin)(void *context, const struct recording_segment *s);
    replay_sink put;
    /* Now all of the segment is known. */
    int (*end)(void *context, const struct recording_segment *s, const struct recording_sums *sums);
    /* Nothing more comes for a while. */
    int (*rest)(void *context);
    void *context;
};

/* Follows a program that still runs. The process at the other end knows when the run has ended, and
 * can compile. It reads lines from `ask` and answers on `answers`, which it closes when the run has
 * ended.
 *
 *     need NUMBER OFFSET\n     That function is entered; the log has been read up to that offset.
 *                              The answer is IMAGE PATH\n, the compiled skeleton (image -1: the one
 *                              of functions met as the program ran), or none\n.
 *     at PLACE\n               There is no further segment yet; the next one will begin at that
 *                              place in the log. MEMORY_OPEN: there will be none. */
struct recording_follow {
    bool is; /* else a recording ends with its present contents */
    int ask, answers;
    uint64_t from; /* place of the first segment, as `at` said it */
};

struct recording_options {
    int64_t first, last; /* numbers of windows */
    struct recording_follow follow;
};

/* Compiled skeletons. images: one for each image of the recording, in its order; "": no function of
 * the image is entered. late: of functions that were met as the program ran; NULL: there are
 * none. */
struct recording_skeletons {
    const char *const *images;
    unsigned count;
    const char *late;
};

/* Replays the segments of the file at `path`, in order. Returns 0, or -errno with the text: -EINVAL
 * if the file is damaged, or the sink's error, negated. */
RT_MUST_CHECK int recording_replay(const char *path, const struct recording_skeletons *skeletons,
                                   const struct recording_options *o,
                                   const struct recording_sink *sink, struct rt_error *e);

#endif
