/* SPDX-License-Identifier: BSD-3-Clause
 * The layout of a process's stream: the file in shared memory that the traced process shares with
 * its writer.
 *
 * Each traced process has one file, regtrace-<uid>-<run>-<rank>-<pid>-<time> in /dev/shm or
 * REGTRACE_SHM; posix_fallocate reserves its memory before use. The file holds a header, a table
 * of threads, a string table, metadata text and a pool of chunks. Each recording thread holds a
 * chunk; the writer adds chunks while threads hold all of them. A chunk belongs to one thread at a
 * time (single producer).
 *
 * Life of a chunk: FREE -> (producer, CAS) OPEN -> (producer) CLOSED -> (writer) FREE, generation +
 * 1.
 *
 * A chunk's header names the window in force at its first slot. Further edges are EV_WINDOW_OPEN
 * and EV_WINDOW_CLOSE records of the same thread in the chunk, so that a short window costs
 * records, not chunks.
 *
 * The writer may read the complete slots of an OPEN chunk at any time: a slot is complete when the
 * mark in its head equals the chunk's generation. In a CLOSED chunk, `used` slots were reserved. If
 * one of them is not complete yet, a signal handler has interrupted the code that fills it. The
 * writer leaves the chunk until the slot is complete or until the thread or process has ended, and
 * then counts the slot as incomplete.
 *
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
#define STREAM_VERSION 5u
/* Chunks that the writer may add. It reserves their memory when it adds them. */
#define STREAM_MORE_CHUNKS 1024u
#define STREAM_NONE UINT32_MAX
#define STREAM_NO_WINDOW (-1)

enum stream_state {
    STREAM_STARTING = 0, /* the process is still in regtrace's constructor */
    STREAM_LIVE = 1,
    STREAM_FINISHED = 2, /* normal end; the window of the thread that ended it is closed */
    STREAM_EXECED = 3,   /* exec replaces the program; the pid stays (LIVE again if exec fails) */
    STREAM_EMPTY = 4,    /* normal end, but nothing was recorded: leave no file */
};

enum stream_writer_state {
    WRITER_NONE = 0,
    WRITER_STARTING = 1,
    WRITER_READY = 2,
    WRITER_CLOSED = 3, /* the file is complete */
    WRITER_FAILED = 4, /* disk full, read-only folder ...: the process stops and does not wait */
};

enum chunk_state { CHUNK_FREE = 0, CHUNK_OPEN = 1, CHUNK_CLOSED = 2 };

/* The slots of a chunk follow its header, which is two slots long. */
struct chunk_header {
    _Atomic uint32_t state; /* enum chunk_state */
    _Atomic uint32_t used;  /* slots reserved; valid when CLOSED */
    uint32_t generation;    /* its low 16 bits, never 0, are the mark of complete slots */
    uint32_t thread;        /* index into the thread table */
    int32_t window;         /* ordinal in force at the first slot, STREAM_NO_WINDOW outside */
    uint32_t pad;
    uint64_t sequence;    /* per thread, from 0, dense: the order of a thread's chunks */
    uint64_t opened;      /* ticks when the producer took the chunk */
    uint64_t position[2]; /* the writer's notes of how far it is (writer/drain.h) */
    uint64_t pad2;
};
_Static_assert(sizeof(struct chunk_header) == 64, "two slots");

enum stream_thread_state {
    THREAD_UNUSED = 0,
    THREAD_CLAIMED = 1,
    THREAD_LIVE = 2,
    THREAD_ENDED = 3
};

/* One row per thread that ever existed; never reused. The thread or its creator writes it. */
struct stream_thread {
    _Atomic uint32_t state;
    /* regtrace's number of the thread: 0 main, then 1, 2 ... in creation order; after 999 from
     * 1000000 on. Helpers of MPI have numbers from 1000 on. */
    uint32_t tid;
    uint32_t kernel_tid;
    uint32_t name; /* string id */
    uint64_t start_routine;
    uint64_t started, ended; /* ticks; 0 = not yet */
    /* Records (slots without continuations) in closed chunks: a check for the reader. */
    _Atomic uint64_t recorded;
    _Atomic uint64_t dropped, waits, wait_ticks;
    _Atomic uint64_t chunks;       /* sequence numbers handed out so far */
    uint64_t own_ticks;            /* ticks in regtrace outside the fast path, as measured */
    uint32_t start_image;          /* string id */
    uint32_t interrupted;          /* system calls that failed with EINTR because of us */
    _Atomic uint64_t instructions; /* last value of its counter; 0 = not counted */
    _Atomic int32_t counter;       /* descriptor of its counter in its process, plus 1; 0 none */
    uint32_t affinities;           /* number of its EV_AFFINITY records */
    uint64_t excluded;             /* instructions of that counter that were regtrace's */
    uint64_t pad[1];
};
_Static_assert(sizeof(struct stream_thread) == 128, "two cache lines");

/* A string. Its id is its index in the table; id 0 is "". */
enum stream_string_state { STRING_FREE, STRING_IS_WRITTEN, STRING_READY };
struct stream_string {
    _Atomic uint32_t state; /* enum stream_string_state; readable when ready */
    uint32_t hash;
    uint32_t offset, length; /* in the string bytes; a NUL follows there */
};

/* A call path: a place in code that is called from another path. Its number is its index in the
 * table; number 0 is the empty path. The table is a hash table by `parent` and `address`. A path
 * that was cut, so that it has further callers which are not known, begins with the address
 * STREAM_PATH_CUT, without image. */
#define STREAM_PATH_CUT UINT64_C(0)
enum stream_path_state { PATH_FREE, PATH_IS_WRITTEN, PATH_READY, PATH_OVER };
struct stream_path {
    _Atomic uint32_t state; /* enum stream_path_state; readable when ready, or over: not found */
    uint32_t parent;
    uint64_t address;         /* in the process: a return address */
    uint32_t image, build_id; /* string ids of the image's path and build id; 0: none, unknown */
    uint64_t offset;          /* from the image's load base; without an image, the address */
};
_Static_assert(sizeof(struct stream_path) == 32, "two in a cache line");

/* An entry of the profile of MPI calls (REGTRACE_MODE=profile): the calls of one function by one
 * thread, from one call path, on one communicator. The table is a hash table by the first three
 * words. The thread alone writes the sums; the writer reads them meanwhile. */
#define STREAM_PROFILE_TIMES 40u
enum stream_profile_state { PROFILE_FREE, PROFILE_IS_WRITTEN, PROFILE_READY };
struct stream_profile {
    _Atomic uint32_t state; /* enum stream_profile_state; readable when ready */
    uint32_t thread;        /* row in the thread table */
    uint32_t path;          /* 0: unknown, or the sum of calls for which the table has no room */
    uint16_t function;      /* number of the MPI function, and STREAM_PROFILE_NESTED */
    uint16_t comm;          /* number of the communicator, as EV_MPI_ENTER has it */
    _Atomic uint64_t calls, ticks, bytes;
    _Atomic uint64_t least, most; /* ticks of one call */
    /* Number of calls that took 2^i ticks or more, but less than 2^(i+1). The first one has calls
     * of 0 ticks too, the last one longer calls. */
    _Atomic uint64_t times[STREAM_PROFILE_TIMES];
    uint64_t pad;
};
#define STREAM_PROFILE_NESTED 0x8000u /* calls within other MPI calls */
_Static_assert(sizeof(struct stream_profile) == 384, "6 cache lines");

/* A request from outside (regtrace ctl). The writer fills `kind` and `tid`, adds one to
 * requests_made and interrupts the process. The process takes requests in order and adds one to
 * requests_served. When it has done what was asked, it stores `result`, which names the request, so
 * that no reader mistakes an older result for its own. */
#define STREAM_REQUESTS 256u
enum stream_request_kind {
    STREAM_REQUEST_FIRE = 1,  /* fire the interactive alarms */
    STREAM_REQUEST_OPEN = 2,  /* open a window of all threads, or of `tid` */
    STREAM_REQUEST_CLOSE = 3, /* close it, in the same way */
};
struct stream_request {
    uint32_t kind;           /* enum stream_request_kind */
    int32_t tid;             /* -1 any: the main thread */
    _Atomic uint64_t result; /* stream_result(); 0 none yet */
};

/* `number` is the value of requests_made that includes this request. For STREAM_REQUEST_FIRE the
 * counts are of interactive alarms: those of this rank, those that were armed in the thread, and
 * those that fired (an armed alarm that did not fire counted the hit). More than 255 become 255.
 * For STREAM_REQUEST_OPEN and _CLOSE, `alarms` is 1, or 0 if the thread records nothing; `fired` is
 * 1 if the request changed something. */
static inline uint64_t stream_result(uint32_t number, unsigned alarms, unsigned armed,
                                     unsigned fired)
{
    return (uint64_t)number << 32 | (uint64_t)(alarms < 255 ? alarms : 255) << 16 |
           (uint64_t)(armed < 255 ? armed : 255) << 8 | (fired < 255 ? fired : 255);
}

enum stream_mpi_state { STREAM_MPI_NONE, STREAM_MPI_UP, STREAM_MPI_FINALIZED };

struct stream_header {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t total_bytes;
    _Atomic uint32_t state;        /* enum stream_state */
    _Atomic uint32_t writer_state; /* enum stream_writer_state */
    uint32_t pid, parent_pid;
    uint64_t pid_start_time; /* field 22 of /proc/PID/stat: detects a reused pid */
    uint32_t uid;
    _Atomic uint32_t writer_pid;
    /* Grows with each chunk and each round of the writer's loop. */
    _Atomic uint64_t writer_progress;
    _Atomic uint32_t writer_sleeps; /* futex: the writer waits on it; the producer wakes it if 1 */
    /* Futex: producers wait on it; the writer adds to it and wakes them. */
    _Atomic uint32_t chunks_freed;
    _Atomic uint32_t producers_wait; /* number of producers that wait */

    uint32_t chunk_bytes;          /* a multiple of 4096 */
    _Atomic uint32_t chunk_count;  /* the writer adds chunks */
    uint32_t chunk_room;           /* greatest chunk_count that the file has room for */
    _Atomic uint32_t chunk_wanted; /* 1: a thread that does not wait found no free chunk */
    _Atomic uint32_t chunks_held;  /* 1: threads hold all chunks, and the writer can add none */
    uint64_t chunks_offset;
    uint32_t thread_capacity;
    /* Rows claimed. If it exceeds the capacity, some threads went unrecorded. */
    _Atomic uint32_t thread_count;
    uint64_t threads_offset;
    uint32_t string_capacity; /* entries, a power of two */
    uint32_t string_bytes;
    uint64_t strings_offset, string_bytes_offset;
    _Atomic uint32_t strings_used, string_bytes_used;
    uint32_t path_capacity; /* entries, a power of two; an eighth stays free */
    uint64_t paths_offset;
    _Atomic uint32_t paths_used;
    _Atomic uint32_t paths_lost; /* how often a path did not fit: number 0 replaces it */
    uint32_t profile_capacity;   /* entries, a power of two; 0: the run has no profile */
    uint64_t profile_offset;
    _Atomic uint32_t profile_used;
    _Atomic uint64_t profile_lost; /* calls that are in no entry */
    _Atomic uint32_t
        strings_lost; /* strings that did not fit: id 1 "(string table full)" replaces them */
    uint32_t meta_bytes;
    /* "key=value\n" lines, escaped \n \\; written before LIVE, more may be appended. */
    uint64_t meta_offset;
    _Atomic uint32_t meta_used;

    _Atomic int32_t rank, size;      /* -1 unknown; from the launcher, then confirmed */
    _Atomic uint32_t rank_confirmed; /* 1 = by MPI itself after MPI_Init */
    _Atomic uint32_t mpi_state;      /* enum stream_mpi_state */
    _Atomic uint32_t exit_asked;     /* 1: a normal exit waits for the writer to close */
    struct clock_point clock_start;  /* at the end of regtrace's constructor */
    double nominal_ns_per_tick;
    uint32_t clock_source;                           /* enum clock_source */
    uint32_t flags;                                  /* STREAM_FLAG_ */
    _Atomic int64_t clock_offset_ns, clock_error_ns; /* to rank 0's node; 0 on the same node */
    /* Time on the clock of rank 0's node, all in ns of CLOCK_MONOTONIC:
     * corrected = own + clock_offset_ns + clock_drift * (own - clock_start.monotonic_ns). */
    double clock_drift;

    _Atomic uint32_t windows_opened;     /* ordinals handed out */
    _Atomic uint64_t dropped_unthreaded; /* of threads without a row or without a stack for us */
    _Atomic uint32_t requests_made, requests_served; /* futex on both */
    struct stream_request requests[STREAM_REQUESTS];
    _Atomic uint32_t status_armed; /* number of chains still running, for `ctl status` */
    _Atomic uint32_t recording_threads;
    _Atomic uint64_t fired_total;
    _Atomic uint64_t ignored_total;
    _Atomic uint64_t ended; /* ticks when the process exited normally or called exec */
    /* Grows a few times a second while the writer lives, even if a write to the file hangs. */
    _Atomic uint64_t writer_beats;
    uint64_t pad[6];
};

#define STREAM_FLAG_DROP 1u      /* REGTRACE_FULL=drop */
#define STREAM_FLAG_LINKS_MPI 2u /* the program links an MPI library */
#define STREAM_FLAG_CHILD 4u     /* a traced process forked or started this one */

/* The mapping of a stream in one process. */
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

/* Geometry of a new stream. A zero takes the default in parentheses. */
struct stream_geometry {
    uint32_t chunk_bytes;      /* (32768) */
    uint64_t pool_bytes;       /* (4 MiB) before the writer adds chunks */
    uint32_t thread_capacity;  /* (4096) */
    uint32_t string_capacity;  /* (4096) */
    uint32_t string_bytes;     /* (256 KiB) */
    uint32_t path_capacity;    /* (8192) */
    uint32_t profile_capacity; /* (no profile) */
    uint32_t meta_bytes;       /* (64 KiB) */
    /* (false) The file has no name at first, if the file system can do that: see
     * stream_create(). */
    bool unnamed;
};

/* Creates the file at `path` (O_EXCL, 0600), reserves all of it but the later chunks, maps it and
 * lays it out, in the state STARTING. Uses no malloc. Returns 0, or -errno with the text in *e:
 * -ENOSPC if the file system has no room (no file is left), -EEXIST, or -EINVAL for an impossible
 * geometry.
 *
 * With `unnamed`, only the folder of `path` counts (O_TMPFILE). The writer gives the file its name
 * (linkat from /proc/self/fd). If this process is killed before its writer runs, the kernel removes
 * the file, which no other process would. On a file system that cannot do this, the file is created
 * at `path`; st_nlink tells the difference. */
RT_MUST_CHECK int stream_create(struct stream *s, const char *path, const struct stream_geometry *g,
                                struct rt_error *e);

/* Maps an existing file. Checks the magic, the version, and that every offset lies inside the file,
 * so that it refuses a foreign or truncated file (-EPROTO) instead of reading it. */
RT_MUST_CHECK int stream_open(struct stream *s, int fd, struct rt_error *e);

/* Adds one free chunk; only the writer calls it. Returns 0 or -errno: -ENOSPC if the file or its
 * file system has no room for the chunk. */
RT_MUST_CHECK int stream_add_chunk(struct stream *s);

/* Unmaps and closes the stream; the file stays. */
void stream_close(struct stream *s);

#define STREAM_STRING_MAX 1023u /* bytes, without the NUL */

/* Returns the id of a string, and enters the string if it is new. Async-signal-safe and lock-free;
 * both sides may call it. NULL and "" have id 0. Cuts longer strings at a UTF-8 boundary. Returns 1
 * if the table is full (strings_lost counts that). A text may get two ids if a signal handler
 * interrupts the entry of the same text. */
uint32_t stream_string_id(const struct stream *s, const char *text);

/* Returns the text of an id, or NULL if it is not (yet) in the table. The text is in the
 * mapping. */
const char *stream_string_text(const struct stream *s, uint32_t id);

/* --- call paths: stream_paths.c --------------------------------------------------------------- */

static inline struct stream_path *stream_paths(const struct stream *s)
{
    return (struct stream_path *)(void *)(s->base + s->header->paths_offset);
}
#define STREAM_PATH_TRIES 1024u /* look-ups end at the first free entry, so most take one */
static inline uint32_t stream_path_hash(uint32_t parent, uint64_t address)
{
    uint64_t h = (address + ((uint64_t)parent << 32 | parent)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32) ^ (uint32_t)(h >> 48); /* the upper bits depend on all of the key */
}

/* The table of a stream, at hand for look-ups. */
struct stream_path_table {
    const struct stream_path *paths;
    uint32_t mask;
};
static inline struct stream_path_table stream_path_table(const struct stream *s)
{
    return (struct stream_path_table){stream_paths(s), s->header->path_capacity - 1};
}

/* Returns the number of a path; 0 if it is not in the table. */
static inline uint32_t stream_path_find(const struct stream_path_table *t, uint32_t parent,
                                        uint64_t address)
{
    uint32_t at = stream_path_hash(parent, address);
    for (uint32_t i = 0; i < STREAM_PATH_TRIES; i++) {
        uint32_t n = (at + i) & t->mask;
        const struct stream_path *p = &t->paths[n];
        uint32_t state = atomic_load_explicit(&p->state, memory_order_acquire);
        if (RT_LIKELY(state == PATH_READY && p->address == address && p->parent == parent))
            return n;
        if (state == PATH_FREE)
            return 0;
    }
    return 0;
}

/* Enters a path that is not in the table. Fill in all of `path` but its state. Returns its number;
 * 0 if the table is full (paths_lost counts that). Async-signal-safe and lock-free. A path may get
 * two numbers if threads enter it at once. */
uint32_t stream_path_enter(const struct stream *s, const struct stream_path *path);

/* Other code may lie at addresses for which gone() returns true: paths there are not found any
 * more. Looks at the whole table. */
void stream_paths_forget(const struct stream *s, bool (*gone)(uintptr_t address));

/* --- profile of MPI calls: stream_profile.c --------------------------------------------------- */

static inline struct stream_profile *stream_profiles(const struct stream *s)
{
    return (struct stream_profile *)(void *)(s->base + s->header->profile_offset);
}

/* Returns the entry of this thread, path, function and communicator, which it adds if it is new. If
 * there is no room, returns the entry that has all other calls of the function by that thread, or
 * NULL if there is no room for that either. Async-signal-safe and lock-free. Only one thread at a
 * time may ask for the entries of a thread. */
struct stream_profile *stream_profile_enter(const struct stream *s, uint32_t thread, uint32_t path,
                                            uint16_t function, uint16_t comm);

/* Appends one "key=value" line to the metadata. Returns 0, or -ENOSPC if it is full. Not
 * async-signal-safe; one caller at a time. */
int stream_meta_put(const struct stream *s, const char *key, const char *value);

/* Calls visit(ctx, key, value) for each line of the metadata, unescaped and in order. */
void stream_meta_each(const struct stream *s,
                      void (*visit)(void *ctx, const char *key, const char *value), void *ctx);

/* Copies the value of a key, cut to `room`; if several lines have the key, the last one's. Returns
 * false if there is no such key or its value is "". */
RT_MUST_CHECK bool stream_meta_get(const struct stream *s, const char *key, char *out, size_t room);

#endif
