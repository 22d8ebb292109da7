/* SPDX-License-Identifier: BSD-3-Clause
 * Captured values (base/format/values.h) on their way from the stream into the rank file: taken out of the drain, processed by the
 * plug-in in regtrace-vprofiler, counted, and kept in bounded lists that are written when the file is closed.
 *
 * Until then a snapshot beside the file (DIR/.regtrace/values.KEY, replaced as a whole) says what has been processed up to which
 * slot of each thread's stream: whoever drains the rest after a killed writer goes on there. */
#ifndef REGTRACE_WRITER_VALUES_VALUES_H
#define REGTRACE_WRITER_VALUES_VALUES_H

#include "base/format/event.h"
#include "base/format/values.h"
#include "writer/file/rankfile.h"
#include "writer/values/value_lists.h"

#include <limits.h>
#include <sys/types.h>

/* How far a thread's stream is done: all before this slot of that chunk of its. */
struct values_place {
    uint64_t sequence;
    uint32_t slot, zero;
};

/* A sample, or another record, that waits for the instructions that it names. */
struct values_waiting {
    struct values_place end;
    uint64_t periods;
    uint32_t bytes; /* that follow it in the queue */
    uint32_t none;  /* enum values_none; VALUES_NONES: a sample; above: nothing but its place */
};

struct values_thread {
    struct rt_value_thread row;
    struct values_place done, saved;
    bool begun; /* something of it was taken since this writer began */
    uint8_t *queue;
    size_t queue_bytes, queue_room;
    uint8_t sample[VALUES_FOLLOW_MOST * VALUES_PUT_MOST]; /* the one whose end has not come yet */
    size_t sample_bytes;
    bool sample_open;
};

struct values_instruction {
    uint64_t address, clock, samples, periods;
    uint8_t code[16];
    uint8_t length;
    bool known;
};

struct values_image {
    uint64_t base, clock;
    uint32_t path, build_id; /* string ids */
};

struct values_child {
    pid_t pid; /* 0: not started yet, -1: no more */
    int fd;
    char *answer;
    size_t answer_room;
    struct rt_error why; /* it is no more */
};

struct values {
    char plugin[PATH_MAX];
    char path[PATH_MAX]; /* of the snapshot */
    uint32_t pid;
    uint64_t
        lost_chunks; /* given back before the writer was killed, and in no snapshot: values may have been in them */
    bool resumed; /* after a killed writer: some chunks may have been taken */
    struct values_child child;
    struct value_lists lists;
    struct values_instruction *instructions; /* by number */
    uint32_t instruction_room, instruction_most;
    struct values_thread *threads;
    size_t thread_count, thread_latest;
    struct values_image *images;
    size_t image_count;
    char *trace; /* of the frame that is being made */
    size_t trace_bytes;
    struct values_captured *captured;
    size_t captured_count;
    bool dirty, snapshot_failed, told;
    uint64_t saved_ns, save_cost_ns;
    _Atomic uint64_t *progress; /* counted up while an answer is waited for; may be NULL */
};

struct values_about {
    const char *plugin;   /* as the traced process was given it */
    const char *snapshot; /* where it goes, or was put by the writer that was killed */
    uint32_t pid;
    bool resumed;
    bool by_name; /* a path is not taken for a plug-in: it comes from a file */
    _Atomic uint64_t *progress;
};

/* 0 or -ENOMEM. *v: free with values_end(). With `resumed` the snapshot is read, where there is a whole one. */
RT_MUST_CHECK int values_begin(struct values **v, const struct values_about *about);
/* Ends the child too. NULL is fine. */
void values_end(struct values *v);

/* Is it a record that is taken out of the events? */
static inline bool values_is_record(uint32_t code)
{
    return code == EV_VALUES_CODE || code == EV_VALUES || code == EV_VALUES_NONE;
}

/* A record of this thread that ends before that slot of that chunk. 0 or -ENOMEM. */
RT_MUST_CHECK int values_take(struct values *v, const struct rt_event *e,
                              const struct event_slot *more, unsigned more_count,
                              struct values_place end);
/* The thread's stream up to there has been taken. 0 or -ENOMEM. */
RT_MUST_CHECK int values_chunk_end(struct values *v, int32_t thread, struct values_place end);
/* The first chunk that is taken of a thread: chunks before it that no snapshot covers are counted. */
void values_chunk_begin(struct values *v, int32_t thread, uint64_t sequence);
RT_MUST_CHECK int values_add_image(struct values *v, const struct rt_map *map);

/* Process what waits; `final`: also what names instructions that nobody has told of. 0 or -ENOMEM. */
RT_MUST_CHECK int values_process(struct values *v, bool final);

/* Does the snapshot cover the thread's stream up to there? */
bool values_is_saved(const struct values *v, int32_t thread, struct values_place end);
/* Write the snapshot if anything has changed and it is time, at once with `now`. What goes wrong is logged once. */
void values_save(struct values *v, bool now);

/* Write the tables of a file that is about to be closed. 0 or -errno. */
RT_MUST_CHECK int values_write(struct values *v, struct rankfile *f);

/* --- values_child.c: regtrace-vprofiler --process ------------------------------------------------------- */

/* Have a trace processed. *tuples points into the child's memory until the next call. False: the child is no more, child->why. */
bool values_child_process(struct values_child *c, const char *plugin, _Atomic uint64_t *progress,
                          const struct values_frame *frame, const char *trace,
                          const struct values_tuple **tuples, size_t *count);
void values_child_end(struct values_child *c);

/* --- values_snapshot.c ----------------------------------------------------------------------------------- */

/* 0 or -errno: v is as it was after -ENOENT, -EBADMSG. */
RT_MUST_CHECK int values_snapshot_read(struct values *v);
RT_MUST_CHECK int values_snapshot_write(struct values *v);
RT_MUST_CHECK int values_instruction_room(struct values *v, uint32_t number);
struct values_thread *values_thread_of(struct values *v, int32_t thread);

#endif
