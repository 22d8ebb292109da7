/* SPDX-License-Identifier: BSD-3-Clause
 * Shows a run as a picture: collects what its channels show as boxes, ticks and curves, in rows of
 * threads and lanes of channels, and writes a page for browsers or a picture for papers.
 *
 * A track is one line of a picture: a lane (a channel) of a thread, and a depth if the lane is a
 * stack. Its items follow each other in the order of time. An unnamed file keeps them; memory holds
 * at most 4 KiB for each track, and 16 bytes for each 4 KiB in the file.
 *
 * Times are ns from the run's origin. Functions that can fail return 0 or -errno and put the reason
 * and the remedy into *e. The same run gives the same bytes. */
#ifndef REGTRACE_TOOLS_TIMELINE_TIMELINE_H
#define REGTRACE_TOOLS_TIMELINE_TIMELINE_H

#include "tools/channels/event_replay.h"

struct timeline_options {
    const char *title;          /* of the run */
    struct window_span windows; /* if given, leaves out what is outside of them */
    int64_t from, to;           /* leaves out what is outside of these times */
    /* Pages hold each item, up to so many in all. Beyond that, they have summaries where there are
     * many. */
    uint64_t most;
    bool processors; /* pictures have rows of processors; pages have both */
    bool salvaged;   /* values EMU_BAD mean that nothing is known */
};

struct timeline;

/* Replays the run and collects the items; the temporary file goes into the folder `dir`. The replay
 * must outlive *t. Call timeline_close() even after a failure. */
RT_MUST_CHECK int timeline_collect(struct timeline **t, struct event_replay *r,
                                   const struct timeline_options *options, const char *dir,
                                   struct replay_found *found, struct rt_error *e);
void timeline_close(struct timeline *t);

uint64_t timeline_items(const struct timeline *t);
/* Sets the first and the last time. Returns false if there is nothing to show. */
bool timeline_span(const struct timeline *t, int64_t *from, int64_t *to);

/* Returns whether pages have each item, not only summaries. */
bool timeline_is_exact(const struct timeline *t);

/* Write to a file that is open for writing. */
RT_MUST_CHECK int timeline_write_page(struct timeline *t, FILE *out, struct rt_error *e);
/* Writes only the page's data, as HTML elements: the page works in a frame of any document that has
 * them. */
RT_MUST_CHECK int timeline_write_data(struct timeline *t, FILE *out, struct rt_error *e);
RT_MUST_CHECK int timeline_write_svg(struct timeline *t, FILE *out, struct rt_error *e);
/* Draws with libcairo, which is opened on demand. Returns -ENOSYS if it is not installed. */
RT_MUST_CHECK int timeline_write_png(struct timeline *t, FILE *out, struct rt_error *e);

#endif
