/* SPDX-License-Identifier: BSD-3-Clause
 * Events counted in windows (REGTRACE_EVENTS): read where a window opens and closes. On the thread concerned. */
#ifndef REGTRACE_PRELOAD_COUNTERS_H
#define REGTRACE_PRELOAD_COUNTERS_H

#include "preload/internal.h"

/* Reads the option and sees whether it can be served. 0 or -errno with the text. */
RT_MUST_CHECK int counters_prepare(struct rt_error *e);
bool counters_are_on(void);

/* The thread's window has opened, or is about to close: signals are blocked. */
void counters_opened(struct preload_thread *pt);
void counters_closed(struct recorder_thread *t, const struct preload_thread *pt);

#endif
