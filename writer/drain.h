/* SPDX-License-Identifier: BSD-3-Clause
 * From stream to rank file: takes chunks in order, makes rows of slots and windows of rows, and
 * loses nothing if the writer is killed.
 *
 * The writer gives a stream chunk back only when its rows are in the file. It notes its position in
 * the chunk's header: position[0], set before the rows are staged, says "slot s has row r".
 * position[1], set before they are committed, says which row follows them, since rows of other
 * chunks may follow. The process that drains the stream after this writer was killed compares both
 * with the rows in the file, and continues at exactly the next slot. */
#ifndef REGTRACE_WRITER_DRAIN_H
#define REGTRACE_WRITER_DRAIN_H

#include "base/format/stream.h"
#include "writer/file/rankfile.h"
#include "writer/values/value_traces.h"

struct drain_thread {
    uint64_t next_sequence; /* of the next chunk to take */
    uint64_t rows, incomplete, dropped_reported, unstored;
    uint64_t last_clock;
    bool seen;
    struct rt_thread written; /* its row of /threads, as last written */
};

struct drain_chunk {
    uint32_t taken;         /* slots that the writer has looked at */
    int32_t window;         /* window in force at slot `taken` */
    uint64_t row_end;       /* the chunk goes back when the file has this many rows */
    uint32_t values_end;    /* slot after its last record of captured values; 0: no such record */
    uint64_t skip;          /* rows that the file has already, from a killed writer */
    uint64_t blocked_since; /* ns: since when a slot or a gap blocks it; 0: not blocked */
    /* begun: looked at; done: all taken; zombie: done, with incomplete slots that a thread may
     * still fill. */
    bool begun, done, zombie;
};

struct open_window {
    uint64_t row; /* in /windows */
    struct rt_window w;
};

/* An alarm, or a named call, that closed the windows of all threads. */
struct broadcast_close {
    uint64_t clock;
    int32_t alarm; /* RT_NO_ALARM: a named call */
    bool api;
};

/* The region, of a regions file, for which a chain opens windows. */
struct drain_region {
    uint32_t name; /* string id; 0: none */
    double weight, multiplier;
};

/* First id of the strings that the writer adds; the ids of a stream's strings are smaller. */
#define DRAIN_OWN_STRINGS UINT32_C(0x40000000)

enum { DRAIN_PLAIN = 2048 };

struct drain {
    const struct stream *stream;
    struct rankfile *file;
    /* Copied from the stream's header once, after the check: the traced process can overwrite the
     * header by mistake. */
    uint32_t chunk_bytes, chunk_count, chunk_room, chunk_slots, thread_capacity, string_capacity;
    uint32_t path_capacity;
    uint64_t chunks_offset, threads_offset, meta_offset;
    uint32_t meta_bytes;
    struct drain_thread *threads;
    struct drain_chunk *chunks;
    bool said_held; /* has logged that no chunk could be added */
    struct open_window *open;
    size_t open_count, open_room;
    struct broadcast_close *closes; /* in the order of arrival, not of time: threads interleave */
    size_t close_count, close_room;
    int32_t *alarm_chain; /* chain of alarm i */
    size_t alarm_count;
    struct drain_region *regions; /* indexed by chain */
    size_t region_count;
    unsigned char *string_done;
    uint32_t strings_written;
    unsigned char *path_done;
    uint32_t paths_written;
    struct drain_profile *profile; /* drain_profile.c; NULL: the run has no profile */
    uint32_t profile_capacity;
    uint64_t profile_offset;
    uint64_t string_bytes;
    uint64_t damaged_chunks, last_clock;
    uint32_t metadata_done;
    /* Codes of events that say nothing but themselves: no table is derived from them, and the file
     * has their names. Each at its place, drain_plain_place(); 0: none yet. */
    uint32_t plain[DRAIN_PLAIN];
    struct values *values; /* captured values; NULL: the run profiles none */
    bool resumed;          /* recover: the file has some of the stream's rows already */
    /* Number of rows that the file has already. 0: none; positions in chunk headers mean nothing
     * then. */
    uint64_t resumed_rows;
    uint64_t max_bytes; /* size limit of the file; 0: none */
    bool discard;       /* at the size limit: count events, do not store them */
};

/* Events of different models, categories and values have different places, but for a few. */
static inline uint32_t drain_plain_place(uint32_t code)
{
    return (code >> 16 & 0xff) | ((code >> 8 ^ code << 1) & 7) << 8;
}

/* Rows and chunk headers in the mapping. The checked geometry keeps them inside of it. */
static inline struct stream_thread *drain_thread_row(const struct drain *d, uint32_t i)
{
    return (struct stream_thread *)(void *)(d->stream->base + d->threads_offset) + i;
}
static inline struct chunk_header *drain_chunk_header(const struct drain *d, uint32_t i)
{
    return (struct chunk_header *)(void *)(d->stream->base + d->chunks_offset +
                                           (uint64_t)i * d->chunk_bytes);
}

/* Returns true if the header still has the values that were checked at the start. */
bool drain_header_intact(const struct drain *d);

/* Returns the metadata text so far, in the mapping; *bytes receives its length. */
const char *drain_metadata(const struct drain *d, uint32_t *bytes);

/* Initializes `d` for a stream that stream_open() has opened. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int drain_init(struct drain *d, const struct stream *s);
void drain_free(struct drain *d);

/* Sets the file that receives the rows from now on. Only the drain may fill its tables of windows,
 * strings and threads. Returns 0. */
RT_MUST_CHECK int drain_set_file(struct drain *d, struct rankfile *f);

/* Returns true if there is something to write: a closed chunk or, with `open`, a slot in an open
 * one. */
bool drain_has_events(const struct drain *d, bool open);

enum drain_mode {
    DRAIN_CLOSED, /* closed chunks */
    DRAIN_OPEN,   /* also the complete slots of open ones, into the tail */
    DRAIN_FINAL,  /* the process has ended: everything; counts incomplete slots, passes gaps */
};

/* Stages what the stream holds and commits whole chunks of rows. Frees stream chunks whose rows are
 * in the file, and wakes waiting producers. *moved becomes true if something was staged. Returns 0,
 * or -errno of the file. */
RT_MUST_CHECK int drain_step(struct drain *d, enum drain_mode mode, bool *moved);

/* Adds chunks if a thread needs one and other threads hold all of them, perhaps while they wait for
 * that thread. If no chunk can be added, the thread drops events and waits no longer. */
void drain_add_chunks(struct drain *d, struct stream *s);

/* Call after DRAIN_FINAL. Closes open windows with a truncation mark, and writes the thread table
 * and the losses. */
RT_MUST_CHECK int drain_end(struct drain *d);

/* For recover: notes that the file has this path already. */
void drain_has_path(struct drain *d, uint32_t path);

/* Copies strings, call paths, later metadata, new threads, ends of threads and what they dropped to
 * the file and, with `update`, what else threads count. drain_step() does this before each commit,
 * with `update` once a second: these counts may be behind /events if the writer is killed. */
RT_MUST_CHECK int drain_copy_tables(struct drain *d, bool update);

/* drain_profile.c: copies the profile of MPI calls to the file, if the run has one. drain_end()
 * does it too. drain_profile_init() returns 0 or -ENOMEM. */
RT_MUST_CHECK int drain_profile_init(struct drain *d);
RT_MUST_CHECK int drain_copy_profile(struct drain *d);

/* For recover: notes a row of /fired that the file already has. If that event closed the windows of
 * all threads, windows of threads that still waited end there. */
RT_MUST_CHECK int drain_note_close(struct drain *d, const struct rt_fired *f);
/* For recover: notes a window, in row `row` of /windows, that was open when the old file ended. */
RT_MUST_CHECK int drain_resume_window(struct drain *d, const struct rt_window *w, uint64_t row);

/* The slots of a chunk that are taken now. */
struct drain_taking {
    struct drain *d;
    struct drain_chunk *c;
    struct drain_thread *t;
    struct event_slot *slots;
    int32_t tid;
    uint64_t sequence;
    uint32_t limit, from; /* slots before `from` are in the file */
    uint16_t mark;
    bool holes; /* pass incomplete slots, and count them */
};

/* Reads the head of a slot. Returns true if the slot is complete in the chunk's generation. */
static inline bool drain_slot_complete(const struct event_slot *slot, uint16_t mark, uint64_t *head)
{
    *head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE);
    return mark != 0 && EVENT_HEAD_MARK(*head) == mark;
}

/* drain_slots.c: returns true if one of the slots from `i` on is complete. */
bool drain_any_complete(const struct event_slot *slots, uint32_t i, uint32_t limit, uint16_t mark);
/* Takes slots up to the first incomplete one or, with k->holes, beyond it. Returns 0 or -errno. */
RT_MUST_CHECK int drain_take_slots(struct drain_taking *k, bool closed);

/* drain_derive.c: derives rows of other tables from an event, which has row `row`. `more`: its
 * complete
 * continuation slots. */
RT_MUST_CHECK int drain_derive(struct drain *d, struct drain_chunk *c, struct drain_thread *t,
                               const struct rt_event *event, const struct event_slot *more,
                               unsigned more_count, uint64_t row);
/* Notes the window in force after the event, without storing anything. */
void drain_follow_window(struct drain *d, struct drain_chunk *c, const struct rt_event *event);
RT_MUST_CHECK int drain_close_windows(struct drain *d);
/* For recover without a stream: ends all open windows at `clock`, or at their start if that is
 * later. */
RT_MUST_CHECK int drain_close_windows_at(struct drain *d, uint64_t clock);
RT_MUST_CHECK int drain_add_loss(struct drain *d, enum rt_loss_kind kind, int32_t thread,
                                 uint64_t count);

#endif
