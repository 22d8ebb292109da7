/* SPDX-License-Identifier: BSD-3-Clause
 * Declares tracks and their items, which items.c makes and the writers of pages and pictures
 * read. For tools/timeline only. */
#ifndef REGTRACE_TOOLS_TIMELINE_TRACKS_H
#define REGTRACE_TOOLS_TIMELINE_TRACKS_H

#include "tools/timeline/message_lines.h"
#include "tools/timeline/short_name.h"
#include "tools/timeline/spool.h"
#include "base/toolkit/key_table.h"
#include "tools/timeline/timeline.h"

enum lane_kind {
    LANE_NONE,
    LANE_STATE,
    LANE_STACK, /* boxes, with a track for each depth */
    LANE_CALLS, /* a stack of MPI calls: boxes with arguments */
    LANE_TICKS,
    LANE_CURVE,
};

/* A channel that is shown. */
struct lane {
    enum lane_kind kind;
    uint32_t channel;
    struct key_table values; /* numbers of the values; low: the value */
};

/* The arguments of an MPI call. Peers and tags: INT32_MIN if none. */
struct track_call {
    uint64_t bytes;
    int32_t peer, tag;
    uint32_t comm;
};

struct item {
    int64_t start, end;     /* equal in ticks and points of curves */
    int64_t value;          /* number in its lane's values; in curves the value itself */
    struct track_call call; /* in LANE_CALLS */
};

/* A track; its index is the number of its sequence in the spool. stream: a thread, or after all
 * threads a processor. */
struct track {
    uint32_t stream, lane, depth;
    uint64_t items;
    int64_t last;       /* end of the last item */
    int64_t last_value; /* of curves */
};

struct timeline {
    struct event_replay *replay;
    struct timeline_options options;
    struct lane *lanes; /* by channel */
    uint32_t lane_count;
    uint32_t runs; /* The lane that shows which thread runs on a processor, in place of ovni.tid. */
    struct track *tracks;
    uint32_t track_count;
    size_t track_room;
    struct spool *spool;
    struct lines *lines;
    uint64_t items;
    int64_t from, to;
    /* End of the last process's MPI_Init (0: not recorded), and begin of the first process's
     * MPI_Finalize (INT64_MAX: not recorded). */
    int64_t init_end, finalize_begin;
    /* First begin and last end of windows. If the end is not after the begin, there are none. */
    int64_t windows_from, windows_to;
    int error;
};

/* Encodes an item, to follow the one before. Numbers have 7 bits in each byte, the lowest first:
 *
 * - start minus the end of the item before
 * - duration (boxes only)
 * - value (curves: the difference from the value before, zigzag)
 * - calls only: bytes, peer and tag (zigzag + 1; 0: none), communicator */
enum { ITEM_BYTES = 80 };
size_t item_encode(uint8_t out[ITEM_BYTES], enum lane_kind kind, struct track *t,
                   const struct item *item);

static inline uint8_t *number_encode(uint8_t *p, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

static inline uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

/* Reads the items of a track in order. A result of take() other than 0 ends the reading and is
 * returned. */
RT_MUST_CHECK int track_read(struct timeline *t, uint32_t track,
                             int (*take)(void *context, const struct item *item), void *context,
                             struct rt_error *e);

static inline int64_t lane_value(const struct lane *l, uint32_t number)
{
    return (int64_t)l->values.keys[number].low;
}

/* Updates init_end and finalize_begin from an enter or a leave of an MPI function, of any
 * process. */
void timeline_take_edge(struct timeline *t, uint32_t code, int64_t time);
/* Writes "rank 3", or "rank 3.1" with the thread's number if several threads of its process
 * recorded. */
void thread_text(const struct timeline *t, uint32_t thread, char out[64]);
/* Writes "cpu 3", or "several cpus" for the row of threads that may run on several; with the host
 * if the run has more than one. */
void processor_text(const struct timeline *t, uint32_t processor, char out[160]);
/* Returns whether the lane has any item. */
bool lane_is_used(const struct timeline *t, uint32_t lane);
/* Texts of a lane's values, by number. A text is NULL if there is no memory for it. */
struct lane_texts {
    bool incomplete; /* no memory for a text: its number, or nothing, stands for it */
    char **texts;
    uint32_t count;
    const struct timeline *timeline;
    uint32_t lane;
};
struct lane_texts lane_texts_open(const struct timeline *t, uint32_t lane);
/* Returns the text of a value for narrow places: `text` itself, or a shorter one in `room`. */
const char *lane_short_text(const struct timeline *t, uint32_t lane, const char *text,
                            char room[SHORTER]);
void lane_texts_free(struct lane_texts *l);

#endif
