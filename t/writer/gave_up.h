/* SPDX-License-Identifier: BSD-3-Clause
 * Detects a writer that was given up, for tests that demand that nothing is lost. */
#ifndef REGTRACE_T_WRITER_GAVE_UP_H
#define REGTRACE_T_WRITER_GAVE_UP_H

#include "writer/writer.h"

/* Returns whether the process gave up its writer. That is right if the writer shows no sign of life
 * for 2 s, because it gets no processor: events are then missing, and counted. */
static inline bool gave_up(const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    uint64_t dropped = 0, zero = t->calibration_count > 0 ? t->calibration[0].ticks : 0;
    int64_t longest = 0;
    for (size_t i = 0; i < t->thread_count; i++) {
        int64_t ns = rt_rank_ns(rank, zero + t->threads[i].wait_ticks) - rt_rank_ns(rank, zero);
        longest = ns > longest ? ns : longest;
        dropped += t->threads[i].dropped;
    }
    return dropped > 0 && longest > 1900000000;
}

#endif
