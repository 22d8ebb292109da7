/* SPDX-License-Identifier: BSD-3-Clause
 * From stream to rank file: chunks in order, slots to rows, rows to windows, and what makes it survive a kill.
 *
 * A stream chunk is given back only when its rows are in the file. Before its rows are staged, the chunk's
 * header (pad2[0]) says "slot s has row r", and before they are committed (pad2[1]) which row comes behind them, since rows of
 * other chunks may follow: whoever drains the stream after this writer was killed compares both with the rows in the file
 * and goes on at the very slot. */
#ifndef REGTRACE_WRITER_DRAIN_H
#define REGTRACE_WRITER_DRAIN_H

#include "base/format/stream.h"
#include "writer/file/rankfile.h"
#include "writer/values/values.h"

struct drain_thread {
    uint64_t next_sequence; /* of the chunk to take next */
    uint64_t rows, incomplete, dropped_reported, unstored;
    uint64_t last_clock;
    bool seen;
    struct rt_thread written; /* its row as last handed to the file */
};

struct drain_chunk {
    uint32_t taken;         /* slots looked at */
    int32_t window;         /* in force at slot `taken` */
    uint64_t row_end;       /* the file must have this many rows before the chunk goes back */
    uint32_t values_end;    /* slot behind its last record of captured values, 0: it has none */
    uint64_t skip;          /* rows that the file had already (after a killed writer) */
    uint64_t blocked_since; /* ns: closed, with a slot that nobody completes */
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

/* What the windows that a chain opens stand for. */
struct drain_region {
    uint32_t name; /* string id, 0 = none */
    double weight, multiplier;
};

/* Ids of strings that are the writer's own, beyond those that a stream can have. */
#define DRAIN_OWN_STRINGS UINT32_C(0x40000000)

struct drain {
    const struct stream *stream;
    struct rankfile *file;
    /* Taken from the stream's header once, checked: the traced process can overwrite the header by mistake. */
    uint32_t chunk_bytes, chunk_count, chunk_room, chunk_slots, thread_capacity, string_capacity;
    uint64_t chunks_offset, threads_offset, meta_offset;
    uint32_t meta_bytes;
    struct drain_thread *threads;
    struct drain_chunk *chunks;
    bool said_held; /* that no chunk could be added */
    struct open_window *open;
    size_t open_count, open_room;
    struct broadcast_close *closes; /* by arrival, not by time: threads interleave */
    size_t close_count, close_room;
    int32_t *alarm_chain; /* chain of alarm i */
    size_t alarm_count;
    struct drain_region *regions; /* by chain */
    size_t region_count;
    unsigned char *string_done;
    uint32_t strings_written;
    uint64_t string_bytes;
    uint64_t damaged_chunks, last_clock;
    uint32_t metadata_done;
    struct values *values; /* captured ones, apart from the events; NULL: the run profiles none */
    bool resumed;          /* some of the stream is in the file already (recover): */
    uint64_t
        resumed_rows; /* ... the first so many rows; 0: nothing is, positions in chunks mean nothing */
    uint64_t max_bytes; /* of the file, 0 = no limit */
    bool discard;       /* recording has ended (size limit): count, do not store */
};

/* Inside the mapping by the checked geometry. */
static inline struct stream_thread *drain_thread_row(const struct drain *d, uint32_t i)
{
    return (struct stream_thread *)(void *)(d->stream->base + d->threads_offset) + i;
}
static inline struct chunk_header *drain_chunk_header(const struct drain *d, uint32_t i)
{
    return (struct chunk_header *)(void *)(d->stream->base + d->chunks_offset +
                                           (uint64_t)i * d->chunk_bytes);
}

/* Is the header still what was checked at the start? */
bool drain_header_intact(const struct drain *d);

/* The metadata text so far; *bytes of it. Points into the mapping. */
const char *drain_metadata(const struct drain *d, uint32_t *bytes);

/* stream_open() has been called. 0 or -ENOMEM. */
RT_MUST_CHECK int drain_init(struct drain *d, const struct stream *s);
void drain_free(struct drain *d);

/* Where rows go from now on (its tables of windows, strings and threads are filled by drain alone). */
RT_MUST_CHECK int drain_set_file(struct drain *d, struct rankfile *f);

/* Is there anything to write: a closed chunk, or with `open` a slot in an open one? */
bool drain_has_events(const struct drain *d, bool open);

enum drain_mode {
    DRAIN_CLOSED, /* closed chunks */
    DRAIN_OPEN,   /* and what is complete in open ones, into the tail */
    DRAIN_FINAL,  /* the process is gone: everything, holes counted, gaps passed */
};

/* Stage what is there and commit what fills chunks; frees chunks whose rows are in the file and wakes waiting
 * producers. *moved: something was staged. 0 or -errno of the file. */
RT_MUST_CHECK int drain_step(struct drain *d, enum drain_mode mode, bool *moved);

/* If a thread needs a chunk and other threads hold all of them, perhaps while they wait for that
 * thread: adds chunks. If it cannot, the thread drops events and waits no longer. */
void drain_add_chunks(struct drain *d, struct stream *s);

/* Close open windows with a truncation mark, write the thread table and the losses. After DRAIN_FINAL. */
RT_MUST_CHECK int drain_end(struct drain *d);

/* Copy strings, metadata that came later and the thread table. drain_step does it before each commit. */
RT_MUST_CHECK int drain_copy_tables(struct drain *d);

/* For recover: notes a row of /fired that the file already has. If that event closed the windows of
 * all threads, windows of threads that still waited end there. */
RT_MUST_CHECK int drain_note_close(struct drain *d, const struct rt_fired *f);
/* For recover: a window that was open when the old file ended. */
RT_MUST_CHECK int drain_resume_window(struct drain *d, const struct rt_window *w, uint64_t row);

/* windows.c: what an event means beside its row. `more`: the continuation slots that were there. */
RT_MUST_CHECK int drain_derive(struct drain *d, struct drain_chunk *c, struct drain_thread *t,
                               const struct rt_event *event, const struct event_slot *more,
                               unsigned more_count, uint64_t row);
/* The window in force after the event, without storing anything. */
void drain_follow_window(struct drain *d, struct drain_chunk *c, const struct rt_event *event);
RT_MUST_CHECK int drain_close_windows(struct drain *d);
/* For recover, without a stream: all that are open end there, or where they began. */
RT_MUST_CHECK int drain_close_windows_at(struct drain *d, uint64_t clock);
RT_MUST_CHECK int drain_add_loss(struct drain *d, enum rt_loss_kind kind, int32_t thread,
                                 uint64_t count);

#endif
