/* SPDX-License-Identifier: BSD-3-Clause
 * Titles of mark types and labels of their values (regtrace.h). */
#ifndef REGTRACE_PRELOAD_WINDOW_MARKS_H
#define REGTRACE_PRELOAD_WINDOW_MARKS_H

#include "base/format/recorder.h"

/* The title of a type, or the label of a value. The text follows the struct. */
struct mark_meaning {
    uint32_t bytes;        /* including the text; a multiple of 8 */
    _Atomic uint32_t told; /* number of the last stream that has it */
    uint32_t code, type;   /* code: EV_MARK_TYPE or EV_MARK_LABEL */
    int64_t value;         /* for a type: flags */
};

/* The program names a type or a value of marks: records that, in and outside windows. While nothing
 * is recorded in this process, it is cached until something is. text: of the program; "" or NULL
 * for none. Safe in handlers. */
void marks_mean(uint32_t code, int type, long value, const char *text);

/* A thread begins to record in a stream: records all that the program has said before and that the
 * stream lacks. Cheap. */
void marks_tell_all(struct recorder_thread *t);

/* Called in the child of fork, before it records. */
void marks_forked(void);

#endif
