/* SPDX-License-Identifier: BSD-3-Clause
 * Captured values (base/format/value_protocol.h) on their way from the stream into the rank file:
 * taken out of the drain, processed by the plug-in in regtrace-vprofiler, counted, and held in
 * bounded lists that are written when the file is closed.
 *
 * Until then a snapshot beside the file (DIR/.regtrace/values.KEY, always replaced as a whole) says
 * up to which slot of each thread's stream the values are processed. The process that drains the
 * rest after a killed writer continues there. */
#ifndef REGTRACE_WRITER_VALUES_VALUE_TRACES_H
#define REGTRACE_WRITER_VALUES_VALUE_TRACES_H

#include "base/format/event.h"
#include "base/format/value_protocol.h"
#include "writer/file/rankfile.h"
#include "writer/values/value_lists.h"

#include <limits.h>
#include <sys/types.h>

/* Progress in a thread's stream: all before this slot of the chunk with this sequence number is
 * done. */
struct values_place {
    uint64_t sequence;
    uint32_t slot, zero;
};

/* A sample, or another record, that waits for the instructions that it names to become known. */
struct values_waiting {
    struct values_place end;
    uint64_t periods;
    uint32_t bytes; /* bytes that follow in the queue */
    uint32_t none;  /* enum values_none; VALUES_NONES: a sample; above: only a place */
};

struct trace_thread {
    struct rt_value_thread row;
    struct values_place done, saved;
    bool begun; /* this writer has begun a chunk of it */
    uint8_t *queue;
    size_t queue_bytes, queue_room;
    uint8_t sample[VALUES_FOLLOW_MOST * VALUES_PUT_MOST]; /* incomplete sample */
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
    pid_t pid; /* 0: not started yet, -1: ended */
    int fd;
    char *answer;
    size_t answer_room;
    struct rt_error why; /* why it ended */
};

struct values {
    char plugin[PATH_MAX];
    char path[PATH_MAX]; /* path of the snapshot */
    uint32_t pid;
    /* Chunks that were given back before the writer was killed, and that no snapshot covers: they
     * may have held values. */
    uint64_t lost_chunks;
    bool resumed; /* after a killed writer: some chunks may have been taken */
    struct values_child child;
    struct value_lists lists;
    struct values_instruction *instructions; /* indexed by number */
    uint32_t instruction_room, instruction_most;
    struct trace_thread *threads;
    size_t thread_count, thread_latest;
    struct values_image *images;
    size_t image_count;
    char *trace; /* entries of the next frame */
    size_t trace_bytes;
    struct values_captured *captured;
    size_t captured_count;
    bool dirty, snapshot_failed, told;
    uint64_t saved_ns, save_cost_ns;
    _Atomic uint64_t *progress; /* incremented while the writer waits for an answer; may be NULL */
};

struct values_about {
    const char *plugin;   /* as the traced process was given it */
    const char *snapshot; /* path of the snapshot, also of one that a killed writer left */
    uint32_t pid;
    bool resumed;
    bool by_name; /* refuse a plug-in that is given by a path: the path is from a file */
    _Atomic uint64_t *progress;
};

/* Returns 0 or -ENOMEM. Free *v with values_end(). With `resumed`, reads the snapshot if there is a
 * whole one. */
RT_MUST_CHECK int values_begin(struct values **v, const struct values_about *about);
/* Frees `v` and ends its child. `v` may be NULL. */
void values_end(struct values *v);

/* Returns true for a record that is taken out of the events. */
static inline bool values_is_record(uint32_t code)
{
    return code == EV_VALUES_CODE || code == EV_VALUES || code == EV_VALUES_NONE;
}

/* Takes a record of thread e->thread that ends at `end`. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int values_take(struct values *v, const struct rt_event *e,
                              const struct event_slot *more, unsigned more_count,
                              struct values_place end);
/* Notes that the thread's stream has been taken up to `end`. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int values_chunk_end(struct values *v, int32_t thread, struct values_place end);
/* Call before the slots of a chunk are taken. At the first chunk of a thread, counts the chunks
 * before it that no snapshot covers. */
void values_chunk_begin(struct values *v, int32_t thread, uint64_t sequence);
RT_MUST_CHECK int values_add_image(struct values *v, const struct rt_map *map);

/* Processes the records that wait. With `final`, also gives up samples whose instructions are still
 * unknown. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int values_process(struct values *v, bool final);

/* Returns true if the snapshot covers the thread's stream up to `end`. */
bool values_is_saved(const struct values *v, int32_t thread, struct values_place end);
/* Writes the snapshot if anything has changed and it is time or, with `now`, at once. Logs only the
 * first of several failures. */
void values_save(struct values *v, bool now);

/* Writes the tables of a file that is about to be closed. Returns 0 or -errno. */
RT_MUST_CHECK int values_write(struct values *v, struct rankfile *f);

/* --- values_child.c: regtrace-vprofiler --process --------------------------------------------- */

/* Has a trace processed. *tuples points into the memory of `c`, until the next call. Returns false
 * if the child has ended; c->why says why. */
bool values_child_process(struct values_child *c, const char *plugin, _Atomic uint64_t *progress,
                          const struct values_frame *frame, const char *trace,
                          const struct values_tuple **tuples, size_t *count);
void values_child_end(struct values_child *c);

/* --- values_snapshot.c ------------------------------------------------------------------------ */

/* Read and write the snapshot. Return 0 or -errno. After -ENOENT, or -EBADMSG because of its head
 * or checksum, `v` is unchanged. */
RT_MUST_CHECK int values_snapshot_read(struct values *v);
RT_MUST_CHECK int values_snapshot_write(struct values *v);
/* Makes room for the instruction with that number. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int values_instruction_room(struct values *v, uint32_t number);
/* Returns the thread, which it adds if necessary, or NULL if there is no memory. */
struct trace_thread *values_thread_of(struct values *v, int32_t thread);

#endif
