/* SPDX-License-Identifier: BSD-3-Clause
 * Paraver's files of a run: thread.prv and cpu.prv, each with its .pcf (labels, colours) and .row (names of rows), and cfg/, a view each.
 *
 * Source: Paraver's trace format (tools.bsc.es), shared/channels.md. The same run gives the same bytes. */
#ifndef REGTRACE_TOOLS_PARAVER_PRV_H
#define REGTRACE_TOOLS_PARAVER_PRV_H

#include "tools/messages/messages.h"
#include "tools/channels/replay.h"

struct prv_found {
    struct replay_found replay;
    uint64_t lines;    /* of both traces */
    uint64_t messages; /* lines of communication, in the threads' */
    uint64_t likely;   /* of messages: not sure */
    struct emu_unmatched unmatched;
};

/* Into that folder, which is there. 0 or -errno with the reason; then files may be there in part. */
RT_MUST_CHECK int prv_write(struct replay *r, const char *dir, struct prv_found *found,
                            struct rt_error *e);

/* late.c: so many lines, in order, that belong into a trace that is there. */
RT_MUST_CHECK int prv_merge_late(const char *path, size_t n,
                                 void (*put)(void *context, size_t i, char line[256]),
                                 void *context, struct rt_error *e);

/* prv_text.c: what begins the lines of each row, "0:1:2:1:" (from the processor to the thread), and how long it is: *prefix and *length are
 * of malloc. */
RT_MUST_CHECK int prv_prefixes(const struct replay *r, bool processors, char (**prefix)[32],
                               uint8_t **length, struct rt_error *e);
/* What goes along. name: "thread" or "cpu". */
RT_MUST_CHECK int prv_write_pcf(const struct replay *r, const char *dir, bool processors,
                                struct rt_error *e);
RT_MUST_CHECK int prv_write_row(const struct replay *r, const char *dir, bool processors,
                                struct rt_error *e);
RT_MUST_CHECK int prv_write_views(const struct replay *r, const char *dir, bool processors,
                                  struct rt_error *e);

#endif
