/* SPDX-License-Identifier: BSD-3-Clause
 * Finds streams of a run that no entry in DIR/.regtrace names: their writers were killed, or are
 * still starting. */
#ifndef REGTRACE_WRITER_REPAIR_UNCLAIMED_STREAMS_H
#define REGTRACE_WRITER_REPAIR_UNCLAIMED_STREAMS_H

#include "writer/claim.h"

/* Looks for streams of the run in /dev/shm, in REGTRACE_SHM, and in the folders of the streams that
 * its entries name. Each stream that no process drains gets the entry that its writer would have
 * written. For each stream that a living process may drain, calls alive() with the traced process's
 * pid. Returns the number of new entries, or -errno with the text in *e. */
RT_MUST_CHECK int unclaimed_register(const char *dir, const struct claim *claims, size_t count,
                                     void (*alive)(void *context, uint32_t pid), void *context,
                                     struct rt_error *e);

/* If `dir` is not there: makes it if the run of a stream was to be written there, whose writer
 * ended before it made the folder. Returns false if there is no such stream. */
bool unclaimed_make_folder(const char *dir);

#endif
