/* SPDX-License-Identifier: BSD-3-Clause
 * What all threads of a run have done, and what their calls depend on: a call on the begin of
 * another thread's call, or on the ranks of a meeting. A message may be found long after its
 * receiver has gone on: its sender may lose the processor before its call ends. So calls and what
 * they depend on are kept until the end; then ideal_times.c replays them. */
#ifndef REGTRACE_TOOLS_WAITS_IDEAL_STEPS_H
#define REGTRACE_TOOLS_WAITS_IDEAL_STEPS_H

#include "tools/waits/mpi_spans.h"

/* What a collective call depends on. */
enum meeting_need { NEEDS_NOTHING, NEEDS_ROOT, NEEDS_ALL };

/* One rank's part of a meeting. */
struct meeting_part {
    uint32_t meeting; /* its number */
    enum meeting_need need;
    bool is_root;
};

enum { STEPS_NONE = UINT32_MAX };

enum step_kind { STEP_CALL, STEP_INITIALIZES, STEP_OPENS, STEP_DROPS, STEP_CLOSES };

/* What a thread has done: an outermost call, or an edge of what is known of it. */
struct step {
    int64_t begin, end; /* of an edge the same; end INT64_MAX: the recording does not have it */
    int64_t logical;    /* of the begin, once the replay is there; INT64_MIN before */
    uint32_t needs;     /* the last of its needs; STEPS_NONE: it has none */
    uint32_t meeting;   /* STEPS_NONE: it is in none */
    int32_t ordinal;    /* of the window that opens */
    uint8_t kind, need; /* enum step_kind, enum meeting_need */
    bool is_root;
};

/* What a call depends on: a step of another thread, or the calls of a meeting. */
struct need {
    uint32_t before; /* of the same call; STEPS_NONE */
    uint32_t stream; /* whose step must have begun */
    size_t step;
    uint32_t meeting;   /* STEPS_NONE: it is no meeting */
    uint8_t of_meeting; /* enum meeting_need */
    bool first;
};

/* A thread's steps, in the order of time. */
struct thread_steps {
    struct step *steps;
    size_t count, room;
    uint32_t depth; /* of MPI calls */
};

struct ideal_steps {
    struct thread_steps *threads; /* by stream */
    uint32_t thread_count;
    struct need *needs;
    size_t need_count, need_room;
    uint32_t meeting_count;
    struct mpi_spans *spans;
    bool no_memory; /* for what calls depend on */
};

/* Opens the steps of these streams. Returns NULL without memory. */
struct ideal_steps *ideal_steps_open(const struct streams *streams);
/* Takes every record. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int ideal_steps_take(struct ideal_steps *t, const struct stream_record *r);
/* The stream's call at this time cannot end before the other stream's call at that time begins. Of
 * several others the latest counts; with `first`, the earliest. The calls have begun. */
void ideal_steps_need(struct ideal_steps *t, uint32_t stream, int64_t ns, uint32_t other,
                      int64_t other_ns, bool first);
/* The stream's present call belongs to a meeting (meetings.h). */
void ideal_steps_meet(struct ideal_steps *t, uint32_t stream, const struct meeting_part *part);
/* The stream's present call completes a request of a meeting. `first`: as in ideal_steps_need(). */
void ideal_steps_await(struct ideal_steps *t, uint32_t stream, const struct meeting_part *part,
                       bool first);
/* The thread's open call has failed: it meets nobody. */
void ideal_steps_fail(struct ideal_steps *t, uint32_t stream);
void ideal_steps_close(struct ideal_steps *t);

#endif
