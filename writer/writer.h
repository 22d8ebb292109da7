/* SPDX-License-Identifier: BSD-3-Clause
 * Public interface of writer/: the rows of a rank file, the reader, recover, the run's index, and
 * the files of writer/results.h.
 *
 * The rows below are the compound types of the HDF5 datasets, field for field
 * (share/doc/schema.md). No function here prints. HDF5 runs in a child process of the reader, one
 * for each open file: a damaged file can crash HDF5 1.10, and the tool then reports an error
 * instead of crashing. */
#ifndef REGTRACE_WRITER_WRITER_H
#define REGTRACE_WRITER_WRITER_H

#include "base/clock.h"
#include "base/error.h"
#include "base/format/enums.h"
#include "base/format/event.h"
#include "writer/results.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_SCHEMA_VERSION 1u
#define RT_NULL INT64_C(-1)  /* icount that is unknown or was not requested */
#define RT_NO_ROW UINT64_MAX /* no row of /events (yet) */
#define RT_NO_ALARM (-1)     /* no alarm: default start, end of program, API */

/* /events (and /tail): one recorded event. Rows of one thread are in clock order. Rows of different
 * threads interleave in the order in which the writer took their chunks. Continuation slots have no
 * rows: their words are in the tables that are derived from events, such as /fired and /windows. */
struct rt_event {
    uint64_t clock; /* raw ticks */
    uint32_t code;  /* EVENT_CODE(); /functions names it */
    int32_t thread; /* regtrace's number of the thread */
    int32_t window; /* ordinal of the window in force, -1 outside */
    uint16_t cpu;   /* EVENT_CPU_UNKNOWN if unknown */
    uint16_t flags; /* EVENT_FLAG_ bits */
    uint64_t a, b;  /* payload; /functions says what of */
};

/* /fired: one fired alarm. */
struct rt_fired {
    uint64_t row; /* its row in /events */
    uint64_t clock;
    int32_t thread;
    int32_t alarm;  /* index into /alarms, or RT_NO_ALARM */
    int32_t chain;  /* -1: none */
    uint32_t event; /* enum ctl_event, as the recorder got it */
    /* Sum of 1 bcast, 2 late, 4 precond, 8 ignored, 16 default start, 32 API, 64 closes the windows
     * of all threads. */
    uint32_t flags;
    int32_t window; /* ordinal of the window in force when it fired */
    uint64_t ip;
    int64_t requested, actual; /* absolute icounts of the thread, or RT_NULL */
    uint64_t pass;             /* of the chain, from 0 */
};

/* Values of rt_window.truncated: how the end is known. Only windows with RT_END_RECORDED have a
 * close_row. */
enum rt_window_end {
    RT_END_RECORDED = 0,
    RT_END_CUT = 1, /* cut off: stop_clock is the thread's last clock in the file */
    /* The thread waited, and did not run again to record the end. Either a broadcast stop closed
     * the window (stop_alarm and reason name it), or the end of the process did; stop_clock is that
     * moment. Earlier versions wrote RT_END_CUT with RT_WINDOW_EXITED instead. */
    RT_END_UNRECORDED = 2,
};

/* /windows: one thread's part of one window. The row is appended when the window opens and
 * overwritten in place when it closes. */
struct rt_window {
    /* Rows of EV_WINDOW_OPEN and EV_WINDOW_CLOSE in /events; close_row is RT_NO_ROW if there is
     * none. */
    uint64_t open_row, close_row;
    uint64_t start_clock, stop_clock; /* ticks; stop_clock is 0 while it is open */
    int64_t start_icount, stop_icount, start_requested, stop_requested; /* absolute, or RT_NULL */
    /* Ticks by which the edges came late. */
    uint64_t start_late, stop_late;
    int32_t ordinal, thread;
    int32_t chain;                   /* of the start alarm; -1: none */
    int32_t start_alarm, stop_alarm; /* rows of /alarms, or RT_NO_ALARM */
    uint16_t kind;                   /* 0 region of interest, 1 warm-up, 2 prolog, 3 epilog */
    uint8_t bcast, firing;           /* firing: this thread's alarm opened it */
    uint8_t reason;                  /* enum rt_window_reason */
    uint8_t truncated;               /* enum rt_window_end */
    uint16_t pad;
    uint32_t region; /* string id of the id that a regions file gives its region; 0: none */
    uint32_t pad2;
    double weight, multiplier; /* of its region; 0: not given */
};

/* /threads: one row for each thread that the recorder saw, whether or not the thread recorded
 * events. */
struct rt_thread {
    int32_t thread; /* regtrace's number of the thread */
    uint32_t kernel_tid;
    uint32_t name;        /* string id */
    uint32_t start_image; /* string id */
    uint64_t start_routine;
    uint64_t started, ended; /* ticks; ended is 0 if its end was not seen */
    uint64_t rows;           /* number of rows in /events */
    uint64_t recorded;       /* records that the thread handed over, as it counted them */
    uint64_t dropped, waits, wait_ticks;
    uint64_t incomplete;   /* slots reserved but never filled */
    uint64_t own_ticks;    /* ticks in regtrace outside the fast path, as measured */
    uint32_t interrupted;  /* system calls that failed with EINTR because of our signals */
    uint32_t state;        /* enum stream_thread_state */
    uint64_t instructions; /* in user mode, from activation to end; 0: not counted */
};

/* /pieces: consecutive rows of /events that belong to one thread. Pieces come in the order of their
 * rows, without a gap. Many consecutive rows of one thread make several pieces. */
struct rt_piece {
    uint64_t row, rows;               /* in /events: the first row, and the number of rows */
    uint64_t first_clock, last_clock; /* ticks of the first and the last event */
    int32_t thread;
    uint32_t check; /* checksum of this row: share/doc/schema.md */
};

/* /calibration: one reading of the tick counter and of the kernel's clocks. */
struct rt_calibration {
    uint64_t ticks, monotonic_ns, realtime_ns, uncertainty; /* uncertainty in ticks */
};

/* /alarms: one alarm of the chains, from the metadata. Texts have a fixed width, padded with
 * NUL. */
struct rt_alarm {
    int32_t alarm, chain, position;
    char event[20];
    char type[20];
    char text[256]; /* as written in the chain */
};

/* /losses: events that are not in this file. The writer adds a row of kind RT_LOSS_DROPPED for each
 * EV_DROPPED event and, when it closes the file, a row for the drops that a thread has not
 * reported. So a thread's rows of that kind add up to rt_thread.dropped. */
struct rt_loss {
    uint32_t kind;  /* enum rt_loss_kind */
    int32_t thread; /* number of the thread, -1: none */
    uint64_t count;
    uint64_t clock; /* ticks at the report */
};

/* /maps: one image that was loaded. */
struct rt_map {
    uint64_t row, clock;
    uint64_t base;
    uint32_t path, build_id; /* string ids */
};

/* /paths: one call path: a place in code that is called from the path `parent`. A row with offset 0
 * and no image stands for callers that are not known: paths that begin there were cut. */
struct rt_path {
    uint32_t path;            /* its number in this file, from 1 */
    uint32_t parent;          /* 0: the outermost place; a call site alone has no other */
    uint32_t image, build_id; /* string ids; 0: no image, unknown */
    uint64_t offset;          /* return address, from its image's base; without one, the address */
};

/* /mpi_profile: the calls of one MPI function by one thread, from one call path, on one
 * communicator. Times are in ticks. */
struct rt_mpi_profile {
    int32_t thread;  /* -1: of several threads */
    uint32_t path;   /* 0: unknown, or calls for which the table had no room */
    uint32_t code;   /* of the function's enter event; 0: calls of any function that had no room */
    uint32_t comm;   /* number, as events have it; 0: none, or unknown. 0xffff: later ones */
    uint32_t nested; /* 1: calls within other MPI calls */
    uint64_t calls, ticks, min_ticks, max_ticks;
    uint64_t bytes; /* as in enter events */
};

/* /mpi_profile_times: how many calls of a row of /mpi_profile took 2^power ticks or more, but less
 * than 2^(power+1). Power 0 has calls of 0 ticks too, the greatest power, 39, all longer calls. */
struct rt_mpi_profile_time {
    uint32_t row, power;
    uint64_t calls;
};

/* /comms: one communicator, as it became known. */
struct rt_comm {
    uint64_t row;
    uint32_t id, rank, size, parent;
    uint64_t identity; /* the same number on all its ranks; 0: unknown */
    uint32_t sides;    /* 0: one group; 1, 3: two groups, `rank` is one of the first, second */
    uint32_t pad;
};

/* /functions: the meaning of one event code. The table has all codes of regtrace and, of each MPI
 * function that was called, the codes of its enter and leave. */
struct rt_function {
    uint32_t code;
    char name[60];     /* "MPI_Send", "EV_WINDOW_OPEN" */
    char label[64];    /* "enter", "leave", "window opens" */
    char a[96], b[96]; /* what the payload words mean */
};

/* /value_instructions, /value_hot, /value_threads: only in files of runs with REGTRACE_VALUES. The
 * writer fills them when it closes the file. */
struct rt_value_instruction {
    uint32_t number;          /* in its process, from 1 */
    uint32_t image, build_id; /* string ids; 0: unknown, or none */
    uint32_t length;          /* bytes of the instruction; 0: unknown */
    uint64_t address, offset; /* offset: from its image's base; without an image, the address */
    uint64_t samples;         /* samples in which it was captured */
    uint64_t periods;         /* periods for which these samples stand */
    uint64_t values;          /* tuples that the plug-in made of it */
    double threshold;         /* of its hot list: one value in `threshold` is in it; 0: no list */
    char code[32];            /* bytes of the instruction, hexadecimal */
};

struct rt_value_hot {
    uint32_t number; /* of the instruction */
    uint32_t pad;
    uint64_t context0, context1, value;
    uint64_t count; /* in the list; count * threshold estimates the true count */
};

struct rt_value_thread {
    int32_t thread;
    uint32_t pad;
    uint64_t samples;  /* samples with values */
    uint64_t captured; /* instructions in these samples */
    /* Samples without values, by reason (enum values_none); `skipped` counts periods. */
    uint64_t unknown, unlearned, not_run, busy, skipped;
    uint64_t damaged;     /* samples that are incomplete or name unknown instructions */
    uint64_t unprocessed; /* instructions captured, but not processed: the plug-in had failed */
    uint64_t strange;     /* tuples about addresses that were not captured */
    uint64_t records;     /* records of the stream that held all this */
};

/* --- the reader ------------------------------------------------------------------------------- */

enum rt_file_state {
    RT_FILE_LIVE = 0,      /* its writer lives, or may live on another host */
    RT_FILE_CLOSED = 1,    /* complete */
    RT_FILE_RECOVERED = 2, /* completed by recover, as far as possible */
    RT_FILE_ABANDONED = 3, /* its writer ended without closing it: `regtrace recover` */
};

/* Facts about a rank file. The struct rt_rank owns the strings. */
struct rt_rank_info {
    const char *file;   /* name inside the run's folder, "rank-00003.h5" */
    int32_t rank, size; /* -1 unknown */
    bool confirmed;     /* MPI itself gave rank and size */
    bool is_main;       /* has the name rank-NNNNN.h5: not a further process of the rank */
    uint32_t world;     /* 2 or more: MPI_Comm_spawn made its MPI world; 0: unknown */
    uint32_t pid;
    bool process_lives; /* on this host, when the file was opened; false unless it is live */
    enum rt_file_state state;
    /* end_reason: "" while the file is live, then "finished", "killed", "exec", ... */
    const char *host, *program, *end_reason;
    uint32_t clock_source; /* enum clock_source */
    double nominal_ns_per_tick;
    int64_t clock_offset_ns, clock_error_ns; /* to rank 0's node; rt_rank_ns() applies the offset */
    double clock_drift;
    uint64_t fired_total, ignored_total;
    uint64_t event_count; /* rows, the tail included */
    uint64_t left_out;    /* rows of the tail from the first torn one on; not in event_count */
};

/* All small tables of a rank file, in memory. The struct rt_rank owns them. */
struct rt_rank_tables {
    const struct rt_fired *fired;
    size_t fired_count;
    const struct rt_window *windows;
    size_t window_count;
    const struct rt_thread *threads;
    size_t thread_count;
    const struct rt_calibration *calibration;
    size_t calibration_count;
    const struct rt_alarm *alarms;
    size_t alarm_count;
    const struct rt_loss *losses;
    size_t loss_count;
    const struct rt_map *maps;
    size_t map_count;
    const struct rt_comm *comms;
    size_t comm_count;
    const struct rt_function *functions;
    size_t function_count;
    const struct rt_path *paths; /* by number; NULL: the file is of an older regtrace */
    size_t path_count;
    const struct rt_mpi_profile *mpi_profile; /* NULL: the run has no profile */
    size_t mpi_profile_count;
    const struct rt_mpi_profile_time
        *mpi_profile_times; /* their rows are less than mpi_profile_count */
    size_t mpi_profile_time_count;
    const struct rt_piece *pieces; /* NULL: the file is of an older regtrace */
    size_t piece_count;
    const struct rt_value_instruction *value_instructions; /* NULL: no values were profiled */
    size_t value_instruction_count;
    const struct rt_value_hot *value_hot; /* in the order of the instructions */
    size_t value_hot_count;
    const struct rt_value_thread *value_threads;
    size_t value_thread_count;
};

struct rt_run;  /* a folder of rank files */
struct rt_rank; /* one open rank file */

/* Finds the rank files of a run. `path` is the run's folder, its regtrace.h5, or one rank file. The
 * files are sorted by rank; the main file of a rank comes first. Returns 0, or -errno with the text
 * and the remedy in *e: -ENOENT (no such path, or no rank file in it), -EACCES, -ENOMEM. Close the
 * run with rt_run_close().
 *
 * A file of a live run may get another name later, when a process with precedence takes rank-N.h5.
 * rt_rank_open() then opens the file by its new name, which rt_run_file() returns from then on; the
 * old text stays valid. */
RT_MUST_CHECK int rt_run_open(struct rt_run **run, const char *path, struct rt_error *e);
void rt_run_close(struct rt_run *run);

/* Processes and writers that still work in the folder of a run. A writer creates its file when it
 * has a full chunk or, once a second, any event: a process that records may have no file yet. */
struct rt_processes {
    unsigned living;       /* traced processes whose writers live, or may live on another node */
    unsigned file_follows; /* of these, processes with events that have no file yet */
    unsigned closing;      /* living writers on this host whose process has ended */
    unsigned starting;   /* writers on this host that have no claim yet; `living` counts them too */
    unsigned unfinished; /* processes of this host whose writer ended before it closed their file */
};
void rt_run_processes(const char *dir, struct rt_processes *out);

/* Removes the folder of a run in which nothing was recorded and nothing was logged. A folder that
 * existed before the run stays, without regtrace's own files in it. Returns false if the folder
 * stays: it existed before, holds something, or a process still works in it. */
bool rt_run_remove_empty(const char *dir);

/* Returns true if the run was opened by the path of one rank file. It then has only that file. */
bool rt_run_is_one_file(const struct rt_run *run);
const char *rt_run_dir(const struct rt_run *run);
size_t rt_run_count(const struct rt_run *run);
/* Returns the name of file `i`, such as "rank-00003.h5", or NULL if `i` is out of range. */
const char *rt_run_file(const struct rt_run *run, size_t i);

/* Opens rank file `i`, or the file at `path`, and reads all small tables. A live file is a snapshot
 * of this moment; open it again for a later one. Returns 0, or -errno with the text in *e: -EBADMSG
 * (not HDF5, damaged or cut; the text says which, and names the remedy), -EPROTO (not a file of
 * regtrace, or of a newer schema). */
RT_MUST_CHECK int rt_rank_open(struct rt_rank **rank, const struct rt_run *run, size_t i,
                               struct rt_error *e);
RT_MUST_CHECK int rt_rank_open_file(struct rt_rank **rank, const char *path, struct rt_error *e);
void rt_rank_close(struct rt_rank *rank);
/* Ends the child process: the caller reads no more events. The tables stay. */
void rt_rank_release(struct rt_rank *rank);

const struct rt_rank_info *rt_rank_info(const struct rt_rank *rank);
const struct rt_rank_tables *rt_rank_tables(const struct rt_rank *rank);

/* Returns the text of a string id: "" for 0, "?" for an id that is not in the file. Never NULL. */
const char *rt_rank_string(const struct rt_rank *rank, uint32_t id);

/* Writes the path of the process's perf map in the run's folder, where there may be none. Returns
 * false if it does not fit. */
bool rt_rank_perf_map(const struct rt_rank *rank, char out[PATH_MAX]);

/* Returns the value of `key` in the metadata, as the traced process wrote it (chains, options ...),
 * or NULL if there is none. */
const char *rt_rank_metadata(const struct rt_rank *rank, const char *key);

/* Returns the name of an event code ("MPI_Send") by this file's table, or "?" if it is unknown;
 * never NULL. *label receives its label; `label` may be NULL. */
const char *rt_rank_function(const struct rt_rank *rank, uint32_t code, const char **label);

/* Reads up to `count` events from row `first` on. *got receives their number, 0 at the end. Returns
 * 0, or -errno: -EBADMSG if the data are damaged. */
RT_MUST_CHECK int rt_rank_read_events(struct rt_rank *rank, uint64_t first, size_t count,
                                      struct rt_event *out, size_t *got, struct rt_error *e);

/* Returns how many rows of /pieces, from the first on, are usable: their checks fit, they leave no
 * gap, and their events exist. *events receives the number of events that they cover. For later
 * events (in an older file, for all) only the events themselves name their thread: the last piece
 * of an open file is not written before it ends. */
size_t rt_rank_pieces(const struct rt_rank *rank, uint64_t *events);

/* Loads all events into one malloc'ed array, in file order; the caller frees it. Returns 0 or
 * -errno. */
RT_MUST_CHECK int rt_rank_load_events(struct rt_rank *rank, struct rt_event **out, size_t *count,
                                      struct rt_error *e);

/* Converts ticks to ns of CLOCK_MONOTONIC on rank 0's node: applies calibration, offset and
 * drift. */
int64_t rt_rank_ns(const struct rt_rank *rank, uint64_t ticks);
/* Converts the length of a span from ticks to ns. */
double rt_rank_span_ns(const struct rt_rank *rank, uint64_t ticks);

/* --- split ------------------------------------------------------------------------------------ */

/* Where a file holds the events of a window. */
struct rt_extent {
    int32_t ordinal;
    bool known; /* the window has a row in /windows */
    /* First row (RT_NO_ROW: no event), row after the last, number of events. */
    uint64_t first_row, end_row, events;
};

struct rt_extents {
    struct rt_extent *rows; /* indexed by ordinal */
    size_t count;
    uint64_t outside; /* events outside of all windows */
    uint64_t unknown; /* events of windows without a row in /windows: the opening was lost */
    /* Events that stay valid for later windows: the meanings of marks (EV_MARK_TYPE,
     * EV_MARK_LABEL), and where threads may run (EV_AFFINITY). */
    struct rt_meaning {
        uint64_t row;
        /* Row of the event that replaces this one: the thread's next EV_AFFINITY. RT_NO_ROW:
         * none. */
        uint64_t until;
        struct rt_event event;
    } * meanings; /* in the order of rows */
    size_t meaning_count;
};

/* Finds the events of all windows: reads all events once. Returns 0, or -errno with the text in *e.
 * Free with rt_extents_free(). */
RT_MUST_CHECK int rt_rank_extents(struct rt_rank *rank, struct rt_extents *out, struct rt_error *e);
void rt_extents_free(struct rt_extents *x);

/* Writes one window as a separate rank file to `path`, with all that is needed to read it.
 * share/doc/schema.md says how it differs from the old file. Returns 0, or -errno with the text in
 * *e; then there is no file. */
RT_MUST_CHECK int rt_rank_split(struct rt_rank *rank, const struct rt_extents *x,
                                const struct rt_extent *window, const char *path,
                                struct rt_error *e);

/* --- recover and index ------------------------------------------------------------------------ */

/* Result of recover for one file. */
struct rt_recovered {
    char file[256];
    enum {
        RT_RECOVER_DONE,
        RT_RECOVER_STREAM_GONE,
        RT_RECOVER_LIVE,
        RT_RECOVER_FAILED,
        /* It was complete and is damaged now. Its stream no longer exists, so nothing can repair
         * the file. */
        RT_RECOVER_DAMAGED,
        RT_RECOVER_MISSING, /* it was complete and has been deleted */
    } result;
    uint64_t from_file, from_stream; /* rows from the old file and from the stream */
    char text[512];                  /* the reason, for FAILED and DAMAGED; else what is missing */
};

/* Callbacks of recover; either may be NULL. report() gets the result for one file. step() gets
 * progress: `rows` of `total` rows of `file` are done. */
struct rt_recover_listener {
    void (*report)(void *context, const struct rt_recovered *r);
    void (*step)(void *context, const char *file, uint64_t rows, uint64_t total);
    void *context;
};

/* Completes the files that killed writers left in `dir`. For each, reads the old file by SWMR into
 * a new file, drains what the stream still holds, and renames the new file over the old one. This
 * includes writers that were killed before they created a file. Does not change closed files or
 * files of living writers: calls report() for the latter, with RT_RECOVER_LIVE, and reads the
 * former completely to report damaged ones. Then builds regtrace.h5. Returns 0 if every file is
 * complete or live, -EIO if a file failed or is damaged, else -errno. */
RT_MUST_CHECK int rt_recover_dir(const char *dir, const struct rt_recover_listener *listener,
                                 struct rt_error *e);

/* Returns the name of what compresses /events at a level of deflate: "ISA-L", "libdeflate", "zlib"
 * or, at level 0, "nothing". */
const char *rt_compressor(unsigned level);

/* Builds DIR/regtrace.h5 from the complete rank files, or replaces it, atomically. Files that are
 * not complete are listed in /ranks and left out of the virtual datasets. */
RT_MUST_CHECK int rt_index_build(const char *dir, struct rt_error *e);

/* Contents of regtrace.h5: the rows of /ranks, and the lengths of its virtual datasets. */
struct rt_index_row {
    int32_t rank;
    uint32_t complete;
    uint64_t events, fired, windows, threads;
    char file[80];
};
struct rt_index_totals {
    uint64_t rows, events, fired, windows,
        /* Rows of the datasets. rows: of /ranks, UINT64_MAX if there is no such dataset. */
        threads;
};

/* Reads regtrace.h5 back. *rows is malloc'ed; the caller frees it. Returns 0, or -errno with the
 * text in *e: -ENOENT, -EBADMSG (damaged), -ENOMEM. */
RT_MUST_CHECK int rt_index_read(const char *dir, struct rt_index_totals *totals,
                                struct rt_index_row **rows, struct rt_error *e);

#endif
