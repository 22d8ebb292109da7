/* SPDX-License-Identifier: BSD-3-Clause
 * Streams of a run that no entry in DIR/.regtrace names: their writers were killed, or are still being started. */
#ifndef REGTRACE_WRITER_UNCLAIMED_H
#define REGTRACE_WRITER_UNCLAIMED_H

#include "writer/claim.h"

/* Looks for streams of the run in /dev/shm, in REGTRACE_SHM, and where its entries have theirs. Each that nobody drains gets the entry
 * that its writer would have written; alive() is called for each that has a process which may drain it. Returns how many entries it has
 * written, or -errno with the text. */
RT_MUST_CHECK int unclaimed_register(const char *dir, const struct claim *claims, size_t count,
                                     void (*alive)(void *context, uint32_t pid), void *context,
                                     struct rt_error *e);

#endif
