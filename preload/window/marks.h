/* SPDX-License-Identifier: BSD-3-Clause
 * Titles of mark types and labels of their values (regtrace.h). */
#ifndef REGTRACE_PRELOAD_WINDOW_MARKS_H
#define REGTRACE_PRELOAD_WINDOW_MARKS_H

#include "preload/internal.h"

/* Its text stands behind it. */
struct mark_meaning {
    uint32_t bytes;        /* with the text, a multiple of 8 */
    _Atomic uint32_t told; /* in which stream */
    uint32_t code, type;   /* code: EV_MARK_TYPE or EV_MARK_LABEL */
    int64_t value;         /* of the type: flags */
};

/* The program says what a mark means: recorded, in and outside of windows. While nothing is recorded in this process it is kept
 * for when something is. text: of the program, "" or NULL for none. Safe in handlers. */
void marks_mean(uint32_t code, int type, long value, const char *text);

/* This thread is the first, or a further one, of a stream: what was said before and does not stand there yet. Cheap. */
void marks_tell_all(struct recorder_thread *t);

/* In the child of fork, before it records. */
void marks_forked(void);

#endif
