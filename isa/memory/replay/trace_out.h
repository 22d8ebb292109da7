/* SPDX-License-Identifier: BSD-3-Clause
 * Accesses as text or records to a descriptor: where a replay goes unless it is analysed. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_TRACE_OUT_H
#define REGTRACE_ISA_MEMORY_REPLAY_TRACE_OUT_H

#include "isa/memory/replay/recording.h"

enum trace_format {
    TRACE_TEXT, /* pc, R W or M, bytes, address */
    TRACE_LACKEY, /* as valgrind --tool=lackey --trace-mem=yes has them: " L 04222c30,8", without the instructions */
    TRACE_COUNT, /* sums alone; of what was recorded, if skeletons are compiled with SKELETON_COUNTS */
    TRACE_BINARY, /* base/format/accesses.h, without the head */
};

struct trace_out {
    enum trace_format format;
    unsigned program; /* of the process, from 0 on; set by who opens it, records do not say it */
    int fd;
    int lock;   /* of a file that those have who write to fd at once; -1: nobody else does */
    int error;  /* why it cannot be written; 0: it can */
    bool said;  /* ... which another one says */
    bool begun; /* there was a stretch */
    bool amid;  /* what is buffered continues a stretch */
    struct accesses_whose whose, continued; /* of what comes next; of what is buffered first */
    size_t used;
    char buffer[1 << 16];
};

/* lock: the file's path, NULL: none. 0, or -errno with the text. */
RT_MUST_CHECK int trace_out_open(struct trace_out *o, enum trace_format format, int fd,
                                 const char *lock, struct rt_error *e);
struct recording_sink trace_out_sink(struct trace_out *o);
/* What is buffered. 0 or an errno. */
RT_MUST_CHECK int trace_out_flush(struct trace_out *o);
void trace_out_close(struct trace_out *o);

#endif
