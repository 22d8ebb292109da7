/* SPDX-License-Identifier: BSD-3-Clause
 * Tracks and their items, which collect.c makes and the writers of pages and pictures read. Of tools/timeline alone. */
#ifndef REGTRACE_TOOLS_TIMELINE_TRACKS_H
#define REGTRACE_TOOLS_TIMELINE_TRACKS_H

#include "tools/timeline/lines.h"
#include "tools/timeline/shorter.h"
#include "tools/timeline/spool.h"
#include "tools/timeline/timeline.h"

enum lane_kind {
    LANE_NONE,
    LANE_STATE,
    LANE_STACK, /* of boxes, with a track for each depth */
    LANE_CALLS, /* a stack of MPI calls: boxes with what they were given */
    LANE_TICKS,
    LANE_CURVE,
};

/* Values of a lane by number, in the order in which they came. */
struct values {
    int64_t *values;
    uint32_t count, room;
    uint32_t *table; /* hash: number + 1 */
    uint32_t table_size;
};

/* A channel that is shown. */
struct lane {
    enum lane_kind kind;
    uint32_t channel;
    struct values values;
};

/* Peers and tags: INT32_MIN none. */
struct call {
    uint64_t bytes;
    int32_t peer, tag;
    uint32_t comm;
};

struct item {
    int64_t start, end; /* ticks and points of curves: the same */
    int64_t value;      /* number of its lane's values; of curves the value itself */
    struct call call;   /* of LANE_CALLS */
};

/* Numbers: those of sequences in the spool. stream: a thread, or behind all of these a processor. */
struct track {
    uint32_t stream, lane, depth;
    uint64_t items;
    int64_t last;       /* end of the last item */
    int64_t last_value; /* of curves */
};

struct timeline {
    struct replay *replay;
    struct timeline_options options;
    struct lane *lanes; /* by channel */
    uint32_t lane_count;
    uint32_t
        runs; /* the lane that says which thread runs on a processor, in the place of ovni.tid */
    struct track *tracks;
    uint32_t track_count, track_room;
    struct spool *spool;
    struct lines *lines;
    uint64_t items;
    int64_t from, to;
    int64_t init_end,
        finalize_begin; /* of the last and the first process; 0, INT64_MAX: not recorded */
    int64_t windows_from, windows_to; /* first begin and last end; not before: there are none */
    int error;
};

/* Items behind each other as bytes, numbers of 7 bits a byte, the lowest first: start minus the end before, duration (of boxes), value (of curves:
 * what it is more than the one before, zigzag), and of calls bytes, peer and tag (zigzag + 1, 0 none) and comm. */
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

/* The items of a track in their order; take() may end it by an error. */
RT_MUST_CHECK int track_read(struct timeline *t, uint32_t track,
                             int (*take)(void *context, const struct item *item), void *context,
                             struct rt_error *e);

/* Its number; UINT32_MAX: no memory. */
uint32_t values_number(struct values *v, int64_t value);
/* The same, where it has one: UINT32_MAX if not. */
uint32_t values_find(const struct values *v, int64_t value);
void values_free(struct values *v);

/* An enter or a leave of MPI, of whatever process: init_end and finalize_begin. */
void timeline_take_edge(struct timeline *t, uint32_t code, int64_t time);
/* "rank 3.1": with the thread's number where its process has several. */
void thread_text(const struct timeline *t, uint32_t thread, char out[64]);
/* "cpu 3", or "several": where threads are that may run on several; with the host where there is more than one. */
void processor_text(const struct timeline *t, uint32_t processor, char out[160]);
/* Has it any item? */
bool lane_is_used(const struct timeline *t, uint32_t lane);
/* Texts of a lane's values by number, NULL where there is no memory. */
struct lane_texts {
    char **texts;
    uint32_t count;
    const struct timeline *timeline;
    uint32_t lane;
};
struct lane_texts lane_texts_open(const struct timeline *t, uint32_t lane);
/* The text of a value for where there is little room, in `room` where it differs. */
const char *lane_short_text(const struct timeline *t, uint32_t lane, const char *text,
                            char room[SHORTER]);
void lane_texts_free(struct lane_texts *l);

#endif
