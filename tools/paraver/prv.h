/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a run as Paraver's files: thread.prv and cpu.prv, each with its .pcf (labels, colours) and
 * .row (names of rows), and a view of each channel in cfg/.
 *
 * Source: Paraver's trace format (tools.bsc.es). The same run gives the same bytes. */
#ifndef REGTRACE_TOOLS_PARAVER_PRV_H
#define REGTRACE_TOOLS_PARAVER_PRV_H

#include "tools/messages/messages.h"
#include "tools/channels/event_replay.h"

struct prv_found {
    struct replay_found replay;
    uint64_t lines;    /* of both traces */
    uint64_t messages; /* communication lines, in thread.prv */
    struct unmatched unmatched;
};

/* Writes the files into the folder `dir`, which must exist, and fills in *found. Returns 0, or
 * -errno with the reason in *e; files may then be incomplete. */
RT_MUST_CHECK int prv_write(struct event_replay *r, const char *dir, struct prv_found *found,
                            struct rt_error *e);

/* late_lines.c: inserts n lines into the complete trace at `path`. `put` writes the line number i;
 * the lines are in the order of time. */
RT_MUST_CHECK int prv_merge_late(const char *path, size_t n,
                                 void (*put)(void *context, size_t i, char line[256]),
                                 void *context, struct rt_error *e);

/* prv_text.c: makes the text that begins the lines of each row, from the processor to the thread,
 * such as "0:1:2:1:", and its length. The caller frees *prefix and *length. */
RT_MUST_CHECK int prv_prefixes(const struct event_replay *r, bool processors, char (**prefix)[32],
                               uint8_t **length, struct rt_error *e);
/* Write the labels, the names of rows and the views of one trace into `dir`. processors: of
 * cpu.prv, otherwise of thread.prv. */
RT_MUST_CHECK int prv_write_pcf(const struct event_replay *r, const char *dir, bool processors,
                                struct rt_error *e);
RT_MUST_CHECK int prv_write_row(const struct event_replay *r, const char *dir, bool processors,
                                struct rt_error *e);
RT_MUST_CHECK int prv_write_views(const struct event_replay *r, const char *dir, bool processors,
                                  struct rt_error *e);

#endif
