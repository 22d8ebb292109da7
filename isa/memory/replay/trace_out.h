/* SPDX-License-Identifier: BSD-3-Clause
 * Writes accesses as text or records to a descriptor: the output of a replay unless it is
 * analysed. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_TRACE_OUT_H
#define REGTRACE_ISA_MEMORY_REPLAY_TRACE_OUT_H

#include "isa/memory/replay/replay_recording.h"

enum trace_format {
    TRACE_TEXT, /* pc, R W or M, bytes, address */
    /* as valgrind --tool=lackey --trace-mem=yes prints them: " L 04222c30,8"; no instructions */
    TRACE_LACKEY,
    /* totals alone; those of recorded values need skeletons compiled with SKELETON_COUNTS */
    TRACE_COUNT,
    TRACE_BINARY, /* base/format/accesses.h, without the head */
};

struct trace_out {
    enum trace_format format;
    /* number of the process's program, from 0 on; the caller sets it; records do not have it */
    unsigned program;
    int fd;
    int lock;    /* file that processes lock while they write to fd; -1: no other process writes */
    int error;   /* why it cannot be written; 0: it can */
    bool said;   /* ... and another process reports that */
    bool begun;  /* a segment has begun */
    bool within; /* the buffer begins within a segment */
    /* of the next accesses; of the first ones in the buffer */
    struct accesses_whose whose, continued;
    size_t used;
    char buffer[1 << 16];
};

/* Opens the output to `fd`. lock: path of the lock file; NULL: none. Returns 0, or -errno with the
 * text. */
RT_MUST_CHECK int trace_out_open(struct trace_out *o, enum trace_format format, int fd,
                                 const char *lock, struct rt_error *e);
struct recording_sink trace_out_sink(struct trace_out *o);
/* Writes the buffer. Returns 0, or an errno value. */
RT_MUST_CHECK int trace_out_flush(struct trace_out *o);
void trace_out_close(struct trace_out *o);

#endif
