/* SPDX-License-Identifier: BSD-3-Clause
 * A run as a picture: what its channels show as boxes, ticks and curves, in rows of threads and lanes of channels; and from these a page for
 * browsers or a picture for papers.
 *
 * A track is one line of a picture: of a thread, a lane (a channel) and, of stacks, a depth. Its items lie one behind the other in the order of
 * time. They are kept in a file without a name; in memory are at most 4 KiB for each track, and 16 bytes for each 4 KiB there.
 * Times are ns from the run's origin. Functions that can fail return 0 or -errno and have the reason, with the remedy, in *e. The same run gives the
 * same bytes. */
#ifndef REGTRACE_TOOLS_TIMELINE_TIMELINE_H
#define REGTRACE_TOOLS_TIMELINE_TIMELINE_H

#include "tools/channels/replay.h"

struct timeline_options {
    const char *title;          /* of the run */
    struct window_span windows; /* where given, what lies outside of these is left out */
    int64_t from, to;           /* what lies outside of these times likewise */
    uint64_t
        most; /* pages hold each item up to so many; beyond that, summaries where there are many */
    bool processors; /* pictures have rows of processors; pages have both */
    bool salvaged;   /* values EMU_BAD mean that nothing is known */
};

struct timeline;

/* Replays the run. dir: where the temporary file goes. The replay must outlive it. */
RT_MUST_CHECK int timeline_collect(struct timeline **t, struct replay *r,
                                   const struct timeline_options *options, const char *dir,
                                   struct replay_found *found, struct rt_error *e);
void timeline_close(struct timeline *t);

uint64_t timeline_items(const struct timeline *t);
/* Its first and last time; false: nothing is there to be shown. */
bool timeline_span(const struct timeline *t, int64_t *from, int64_t *to);

/* Pages have each item, not summaries alone. */
bool timeline_is_exact(const struct timeline *t);

/* To a file opened for writing. */
RT_MUST_CHECK int timeline_write_page(struct timeline *t, FILE *out, struct rt_error *e);
RT_MUST_CHECK int timeline_write_svg(struct timeline *t, FILE *out, struct rt_error *e);
/* By libcairo, which is opened on demand; -ENOSYS: it is not there. */
RT_MUST_CHECK int timeline_write_png(struct timeline *t, FILE *out, struct rt_error *e);

#endif
