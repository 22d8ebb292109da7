/* SPDX-License-Identifier: BSD-3-Clause
 * What each thread of a run did, one MPI call after the other, and for whom it waited: so that the
 * causes of waits can be looked up backward from them (delays.h, critical_path.h).
 *
 * The known time of a thread begins and ends at edges. Those of a window are its opening and its
 * closing, or the end of MPI_Init and the begin of MPI_Finalize in it. The time before the edge at
 * which known time begins is an activity too, the edge's own: how long it was is known, not what
 * the thread did. Calls within other MPI calls are part of these.
 *
 * Memory: 40 bytes a call, and 48 a wait. */
#ifndef REGTRACE_TOOLS_CAUSES_HISTORY_H
#define REGTRACE_TOOLS_CAUSES_HISTORY_H

#include "tools/causes/activities.h"
#include "tools/waits/wait_states.h"

/* `before` with this bit: several activities, from parts[before & ~PAST_PARTS] on. */
#define PAST_PARTS (UINT32_C(1) << 31)

/* An outermost MPI call, or an edge: begin and end are the same then. Times in ns, as in
 * streams.h. */
struct past_call {
    int64_t begin, end;
    uint32_t place;  /* its activity */
    uint32_t before; /* the activity between the one before and this; of an edge at which known time
                      * begins: the edge itself */
    uint32_t wait;   /* index of its wait + 1; 0: it did not wait */
    int32_t window;  /* ordinal */
};

/* A part of the time between two calls. */
struct past_part {
    uint32_t activity;
    uint32_t left; /* parts of the same time that follow */
    int64_t ns;
};

struct past_wait {
    int64_t ns;        /* how long */
    int64_t for_ns;    /* when the other thread's late call began; may be after the own end */
    double carried_ns; /* waits of others that this one has caused: delays.c */
    uint32_t for_stream;
    int32_t window;
};

/* When an activity mattered most. */
struct past_moment {
    double ns;          /* how much of it was there; 0: it never mattered */
    int64_t begin, end; /* as in streams.h */
    int32_t rank, window;
};

struct past_thread {
    struct past_call *calls; /* by begin; the first is an edge */
    size_t count, room;
    struct past_wait *waits;
    size_t wait_count, wait_room;
    struct past_part *parts;
    size_t part_count, part_room;
    int32_t rank; /* in MPI_COMM_WORLD */
    bool is_main; /* the first thread of a rank's main process */
};

/* Give numbers that mean the same on all ranks. */
struct history_names {
    /* A node of a call tree; KEY_NONE: unknown. The others return KEY_NONE without memory. */
    uint32_t (*node)(void *context, uint32_t process, uint32_t path);
    uint32_t (*region)(void *context, uint32_t process, uint32_t string);
    /* The function, or the call site, at an address. */
    uint32_t (*function)(void *context, uint32_t process, uint64_t address, uint64_t clock);
    void *context;
};

struct history;

/* Opens the history; streams and comms must outlive it. Returns NULL without memory. */
struct history *history_open(const struct streams *streams, const struct comms *comms,
                             const struct history_names *names);
/* Takes every record, before wait_states_take() does. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int history_take(struct history *h, const struct stream_record *r);
/* Takes a wait of a call that has been taken. Returns 0, -ENOMEM, or -ENOENT if the call has no end
 * in the recording: then the cause of the wait is not looked for. */
RT_MUST_CHECK int history_wait(struct history *h, const struct wait_state *w);
/* Returns whether the time between these two edges of a thread is one in which MPI is up, which
 * calls show if the recording does not say it. Ask after the last record. */
bool history_is_in_mpi(const struct history *h, uint32_t stream, size_t first, size_t last);
/* Returns the thread of a stream. */
struct past_thread *history_thread(const struct history *h, uint32_t stream);
uint32_t history_threads(const struct history *h);
const struct activities *history_activities(const struct history *h);
/* Returns the index of the thread's call in which this time lies; SIZE_MAX: in none. */
size_t history_find(const struct past_thread *t, int64_t ns);
/* Takes what the thread did between a call and the one before (before the first one: at any time
 * before), as far as it lies in from to until. Returns 0, or what take() returned other than 0. */
RT_MUST_CHECK int history_between(const struct past_thread *t, size_t call, int64_t from,
                                  int64_t until,
                                  int (*take)(void *context, uint32_t activity, int64_t ns),
                                  void *context);
void history_close(struct history *h);

/* Returns whether this is an edge. */
static inline bool past_is_edge(const struct past_call *c)
{
    return c->place < EDGES;
}

/* Returns whether the thread's time before this is not known. */
static inline bool past_begins(const struct past_call *c)
{
    return c->place <= EDGE_DROPPED;
}

/* Returns the wait of a call; NULL: it did not wait. */
static inline struct past_wait *past_wait_of(const struct past_thread *t, const struct past_call *c)
{
    return c->wait != 0 ? &t->waits[c->wait - 1] : NULL;
}

/* Returns when the call has stopped to wait: after that, it works. */
static inline int64_t past_waits_until(const struct past_thread *t, const struct past_call *c)
{
    return c->begin + (c->wait != 0 ? t->waits[c->wait - 1].ns : 0);
}

/* Returns how much of begin to end is in from to until. */
static inline int64_t past_overlap(int64_t begin, int64_t end, int64_t from, int64_t until)
{
    begin = begin > from ? begin : from;
    end = end < until ? end : until;
    return end > begin ? end - begin : 0;
}

#endif
