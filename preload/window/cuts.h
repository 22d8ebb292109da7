/* SPDX-License-Identifier: BSD-3-Clause
 * Events for what the edge of a window cuts: regions, functions and MPI calls that are open then.
 * Each is entered at the start of the window and left at its end, with the flag EVENT_FLAG_CUT, so
 * that enters and leaves in a window match. */
#ifndef REGTRACE_PRELOAD_WINDOW_CUTS_H
#define REGTRACE_PRELOAD_WINDOW_CUTS_H

#include "preload/thread.h"

void cuts_enter(struct recorder_thread *t, struct preload_thread *pt);
void cuts_leave(struct recorder_thread *t, struct preload_thread *pt);

#endif
