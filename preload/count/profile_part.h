/* SPDX-License-Identifier: BSD-3-Clause
 * The part of the library that profiles MPI calls (REGTRACE_MODE=profile); mpi/profile.h does the
 * work. */
#ifndef REGTRACE_PRELOAD_COUNT_PROFILE_PART_H
#define REGTRACE_PRELOAD_COUNT_PROFILE_PART_H

#include "preload/thread.h"

/* Is this run profiled? */
bool profile_is_on(void);
/* Returns how many entries the stream's table has, a power of two. */
uint32_t profile_entries(void);

/* Hooks of the part. */
int profile_prepare(struct rt_error *e);
size_t profile_room(void);
void profile_thread_made(struct preload_thread *pt, void *room);
void profile_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
void profile_forget(void);

#endif
