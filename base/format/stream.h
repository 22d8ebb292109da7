/* SPDX-License-Identifier: BSD-3-Clause
 * The layout of a process's stream file in shared memory: what the traced process and its writer share.
 *
 * One file per traced process, named regtrace-<uid>-<run>-<rank>-<pid> in /dev/shm or REGTRACE_SHM, taken by
 * posix_fallocate before use. Each recording thread keeps a chunk, and the writer adds chunks while
 * threads hold all. The file holds a header, a table of threads, a string table, metadata text and
 * a pool of chunks. A chunk belongs to one thread at a time (single producer).
 *
 * Life of a chunk: FREE -> (producer, CAS) OPEN -> (producer) CLOSED -> (writer) FREE, generation + 1.
 * A chunk's header says which window was in force at its first slot; further edges are EV_WINDOW_OPEN and
 * EV_WINDOW_CLOSE records of the same thread inside it, so that a short window costs records, not chunks.
 * The writer may read an OPEN chunk's complete slots at any time: a slot is complete when the mark in
 * its head equals the chunk's generation. In a CLOSED chunk `used` slots were reserved; one that is not
 * complete yet is being filled by code that a signal handler interrupted: the writer leaves the chunk
 * until it is complete or the thread or process has ended, then counts it as incomplete.
 * Every multi-byte field is host-endian; offsets are bytes from the start of the file. */
#ifndef REGTRACE_BASE_FORMAT_STREAM_H
#define REGTRACE_BASE_FORMAT_STREAM_H

#include "base/clock.h"
#include "base/error.h"
#include "base/format/event.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_MAGIC "RTSTRM1"
#define STREAM_VERSION 3u
/* Chunks that the writer may add. Their memory is taken when they are added. */
#define STREAM_MORE_CHUNKS 1024u
#define STREAM_NONE UINT32_MAX
#define STREAM_NO_WINDOW (-1)

enum stream_state {
    STREAM_STARTING = 0, /* the process is still in our constructor */
    STREAM_LIVE = 1,
    STREAM_FINISHED = 2, /* normal end: exit handlers ran, every window is closed */
    STREAM_EXECED =
        3, /* the process image is being replaced; the pid lives on (back to LIVE if it fails) */
    STREAM_EMPTY = 4, /* normal end and nothing was recorded: leave no file behind */
};

enum stream_writer_state {
    WRITER_NONE = 0,
    WRITER_STARTING = 1,
    WRITER_READY = 2,
    WRITER_CLOSED = 3, /* the file is complete */
    WRITER_FAILED =
        4, /* disk full, read-only folder ...: the process stops recording, no waiting */
};

enum chunk_state { CHUNK_FREE = 0, CHUNK_OPEN = 1, CHUNK_CLOSED = 2 };

/* Slots follow the header; the header is two slots long. */
struct chunk_header {
    _Atomic uint32_t state; /* enum chunk_state */
    _Atomic uint32_t used;  /* slots reserved; valid when CLOSED */
    uint32_t generation;    /* mark of complete slots = low 16 bits; those are never 0 */
    uint32_t thread;        /* index into the thread table */
    int32_t window;         /* ordinal in force at the first slot, STREAM_NO_WINDOW outside */
    uint32_t pad;
    uint64_t sequence; /* per thread, from 0, dense: the order of a thread's chunks */
    uint64_t opened;   /* ticks when the producer took it */
    uint64_t pad2[3];
};
_Static_assert(sizeof(struct chunk_header) == 64, "two slots");

enum stream_thread_state {
    THREAD_UNUSED = 0,
    THREAD_CLAIMED = 1,
    THREAD_LIVE = 2,
    THREAD_ENDED = 3
};

/* One row per thread that ever existed; never reused. Written by its thread (or its creator). */
struct stream_thread {
    _Atomic uint32_t state;
    uint32_t
        tid; /* ours: 0 main, 1, 2 ... in creation order, after 999 from 1000000; helpers of MPI from 1000 */
    uint32_t kernel_tid;
    uint32_t name; /* string id */
    uint64_t start_routine;
    uint64_t started, ended; /* ticks; 0 = not yet */
    _Atomic uint64_t
        recorded; /* records (slots but continuations) in closed chunks: a check for the reader */
    _Atomic uint64_t dropped, waits, wait_ticks;
    _Atomic uint64_t chunks;       /* sequence numbers handed out so far */
    uint64_t own_ticks;            /* spent in us outside the fast path, as measured */
    uint32_t start_image;          /* string id */
    uint32_t interrupted;          /* system calls that failed with EINTR because of us */
    _Atomic uint64_t instructions; /* last value of its counter, 0 = not counted */
    _Atomic int32_t counter;       /* descriptor of its counter plus 1, 0 none; in its process */
    uint32_t affinities;           /* EV_AFFINITY among its records */
    uint64_t excluded;             /* of what that counter says: ours */
    uint64_t pad[1];
};
_Static_assert(sizeof(struct stream_thread) == 128, "two cache lines");

/* A string: id = index in the table; id 0 is "". Complete when `ready`. */
struct stream_string {
    _Atomic uint32_t state; /* 0 free, 1 being written, 2 ready */
    uint32_t hash;
    uint32_t offset, length; /* in the string bytes; NUL-terminated there as well */
};

/* A request from outside (regtrace ctl): the writer fills `kind`, `tid`, then adds one to requests_made
 * and interrupts the process; the process takes them in order, adds one to requests_served, and when it has done what was
 * asked it stores `result`, which names the request, so that none takes an older one's for its own. */
#define STREAM_REQUESTS 256u
enum stream_request_kind {
    STREAM_REQUEST_FIRE = 1,  /* fire the interactive alarms */
    STREAM_REQUEST_OPEN = 2,  /* open a window of all threads, or of `tid` */
    STREAM_REQUEST_CLOSE = 3, /* close it, likewise */
};
struct stream_request {
    uint32_t kind;           /* enum stream_request_kind */
    int32_t tid;             /* -1 any: the main thread */
    _Atomic uint64_t result; /* stream_result(); 0 none yet */
};

/* number: the value of requests_made that includes this request. STREAM_REQUEST_FIRE counts
 * interactive alarms: the alarms of this rank, those that were armed in the thread, and those that
 * fired (an armed alarm that did not fire counted the hit). More than 255 are 255.
 * STREAM_REQUEST_OPEN and _CLOSE: alarms is 1, or 0 if the thread records nothing; fired is 1 if
 * the request changed something. */
static inline uint64_t stream_result(uint32_t number, unsigned alarms, unsigned armed,
                                     unsigned fired)
{
    return (uint64_t)number << 32 | (uint64_t)(alarms < 255 ? alarms : 255) << 16 |
           (uint64_t)(armed < 255 ? armed : 255) << 8 | (fired < 255 ? fired : 255);
}

struct stream_header {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t total_bytes;
    _Atomic uint32_t state;        /* enum stream_state */
    _Atomic uint32_t writer_state; /* enum stream_writer_state */
    uint32_t pid, parent_pid;
    uint64_t pid_start_time; /* field 22 of /proc/PID/stat, to tell a reused pid */
    uint32_t uid;
    _Atomic uint32_t writer_pid;
    _Atomic uint64_t
        writer_progress; /* grows with every chunk, tail or heartbeat of a living writer */
    _Atomic uint32_t writer_sleeps; /* futex: the writer waits here; the producer wakes it on 1 */
    _Atomic uint32_t
        chunks_freed; /* futex: a waiting producer waits here; the writer adds and wakes */
    _Atomic uint32_t producers_wait; /* how many do */

    uint32_t chunk_bytes;          /* a multiple of 4096 */
    _Atomic uint32_t chunk_count;  /* the writer adds chunks */
    uint32_t chunk_room;           /* most that the file can have */
    _Atomic uint32_t chunk_wanted; /* 1: a thread that does not wait has found none */
    _Atomic uint32_t chunks_held;  /* 1: threads hold all, and the writer can add none */
    uint64_t chunks_offset;
    uint32_t thread_capacity;
    _Atomic uint32_t
        thread_count; /* rows claimed, may exceed the capacity: then threads went unrecorded */
    uint64_t threads_offset;
    uint32_t string_capacity; /* entries, a power of two */
    uint32_t string_bytes;
    uint64_t strings_offset, string_bytes_offset;
    _Atomic uint32_t strings_used, string_bytes_used;
    _Atomic uint32_t strings_lost; /* did not fit: id 1 "(string table full)" stands for them */
    uint32_t meta_bytes;
    uint64_t
        meta_offset; /* "key=value\n" lines, escaped \n \\; written before LIVE, more may be appended */
    _Atomic uint32_t meta_used;

    _Atomic int32_t rank, size;      /* -1 unknown; from the launcher, then confirmed */
    _Atomic uint32_t rank_confirmed; /* 1 = by MPI itself after MPI_Init */
    _Atomic uint32_t mpi_state;      /* 0 not initialised, 1 up, 2 finalised */
    _Atomic uint32_t exit_asked;     /* 1: a normal exit waits for the writer to close */
    struct clock_point clock_start;  /* at the end of our constructor */
    double nominal_ns_per_tick;
    uint32_t clock_source;                           /* enum clock_source */
    uint32_t flags;                                  /* STREAM_FLAG_ */
    _Atomic int64_t clock_offset_ns, clock_error_ns; /* to rank 0's node; 0 on the same node */
    /* Time on the clock of rank 0's node, all in ns of CLOCK_MONOTONIC:
     * corrected = own + clock_offset_ns + clock_drift * (own - clock_start.monotonic_ns). */
    double clock_drift;

    _Atomic uint32_t windows_opened;                 /* ordinals handed out */
    _Atomic uint64_t dropped_unthreaded;             /* events of threads without a row */
    _Atomic uint32_t requests_made, requests_served; /* futex on both */
    struct stream_request requests[STREAM_REQUESTS];
    _Atomic uint32_t status_armed; /* number of chains still running, for `ctl status` */
    _Atomic uint32_t recording_threads;
    _Atomic uint64_t fired_total;
    _Atomic uint64_t ignored_total;
    _Atomic uint64_t ended; /* ticks when the process exited normally or called exec */
    uint64_t pad[7];
};

#define STREAM_FLAG_DROP 1u      /* REGTRACE_FULL=drop */
#define STREAM_FLAG_LINKS_MPI 2u /* the program links an MPI library */
#define STREAM_FLAG_CHILD 4u     /* a traced process forked or started this one */

/* The mapping, as either side holds it. */
struct stream {
    struct stream_header *header;
    unsigned char *base;
    size_t bytes;
    int fd; /* -1 once mapped in the traced process */
};

static inline struct chunk_header *stream_chunk(const struct stream *s, uint32_t index)
{
    return (struct chunk_header *)(void *)(s->base + s->header->chunks_offset +
                                           (uint64_t)index * s->header->chunk_bytes);
}
static inline struct event_slot *chunk_slots(struct chunk_header *c)
{
    return (struct event_slot *)(void *)(c + 1);
}
static inline uint32_t stream_chunk_slots(const struct stream *s)
{
    return (s->header->chunk_bytes - (uint32_t)sizeof(struct chunk_header)) /
           (uint32_t)sizeof(struct event_slot);
}
static inline struct stream_thread *stream_threads(const struct stream *s)
{
    return (struct stream_thread *)(void *)(s->base + s->header->threads_offset);
}
static inline uint16_t chunk_mark(const struct chunk_header *c)
{
    return (uint16_t)c->generation;
}

/* What stream_create() lays out; zeros take the defaults in (). */
struct stream_geometry {
    uint32_t chunk_bytes;     /* (32768) */
    uint64_t pool_bytes;      /* (4 MiB) at first */
    uint32_t thread_capacity; /* (4096) */
    uint32_t string_capacity; /* (4096) */
    uint32_t string_bytes;    /* (256 KiB) */
    uint32_t meta_bytes;      /* (64 KiB) */
    bool unnamed; /* (false) no name at first, where the file system can: see stream_create() */
};

/* Create the file at `path` (O_EXCL, 0600), reserve all of it but later chunks, map it and lay it
 * out, state STARTING.
 * 0 or -errno with the text in *e: -ENOSPC where the file system has no room (nothing is left behind),
 * -EEXIST, -EINVAL for a geometry that cannot be. Uses no malloc.
 * `unnamed`: `path` says only which folder (O_TMPFILE), and the kernel takes the file back should this process be
 * killed before its writer runs, which gives it the name (linkat from /proc/self/fd). Nobody else would remove it.
 * File systems without that make it at `path`; st_nlink tells. */
RT_MUST_CHECK int stream_create(struct stream *s, const char *path, const struct stream_geometry *g,
                                struct rt_error *e);

/* Map an existing file. Checks magic, version and that every offset lies inside the file, so that a
 * foreign or truncated file is refused (-EPROTO) instead of read. */
RT_MUST_CHECK int stream_open(struct stream *s, int fd, struct rt_error *e);

/* Adds one free chunk; only the writer does. 0 or -errno: -ENOSPC if the file has no room for it,
 * or its file system has none. */
RT_MUST_CHECK int stream_add_chunk(struct stream *s);

/* Unmap and close; the file stays. */
void stream_close(struct stream *s);

#define STREAM_STRING_MAX 1023u /* bytes, without the 0 behind them */

/* The id of a string, entered if new; async-signal-safe, lock-free, callable from both sides. NULL or ""
 * is 0; longer strings are cut at a UTF-8 boundary; 1 when the table is full (counted in
 * strings_lost). The same text may get two ids when a handler interrupts the entry of that very text. */
uint32_t stream_string_id(const struct stream *s, const char *text);

/* The text of an id, NULL if not (yet) there. Points into the mapping. */
const char *stream_string_text(const struct stream *s, uint32_t id);

/* Append one "key=value" line to the metadata. -ENOSPC when full. Not signal-safe, one caller at a time. */
int stream_meta_put(const struct stream *s, const char *key, const char *value);

/* Walk the metadata: calls visit(ctx, key, value) for each line, unescaped, in order. */
void stream_meta_each(const struct stream *s,
                      void (*visit)(void *ctx, const char *key, const char *value), void *ctx);

/* The value of a key (the last one's, where it stands more than once), cut to `room`. False where there is none, or "". */
RT_MUST_CHECK bool stream_meta_get(const struct stream *s, const char *key, char *out, size_t room);

#endif
