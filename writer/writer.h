/* SPDX-License-Identifier: BSD-3-Clause
 * What other folders may use of writer/: the rows of a rank file, the reader, recover, the run's index, and the files of writer/results.h.
 *
 * The rows below are the compound types of the HDF5 datasets, field for field (share/doc/schema.md). No
 * function here prints. HDF5 itself runs in a child process of the reader (one per opened file), so
 * that a damaged file, which can crash HDF5 1.10, gives an error and not a crash of the tool. */
#ifndef REGTRACE_WRITER_WRITER_H
#define REGTRACE_WRITER_WRITER_H

#include "base/clock.h"
#include "base/error.h"
#include "base/format/event.h"
#include "writer/results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_SCHEMA_VERSION 1u
#define RT_NULL INT64_C(-1)  /* an icount that is unknown or was not requested */
#define RT_NO_ROW UINT64_MAX /* no such row of /events (yet) */
#define RT_NO_ALARM (-1)     /* no alarm: default start, end of program, API */

/* /events (and /tail): one recorded event. Rows of one thread are in clock order; threads interleave as
 * their chunks came. Continuation slots are not here: their words are in /fired and /windows. */
struct rt_event {
    uint64_t clock; /* raw ticks */
    uint32_t code;  /* EVENT_CODE(): see /functions */
    int32_t thread; /* tid, ours */
    int32_t window; /* ordinal in force, -1 outside */
    uint16_t cpu;   /* EVENT_CPU_UNKNOWN where not known */
    uint16_t flags; /* EVENT_FLAG_ bits */
    uint64_t a, b;  /* payload, by code */
};

/* /fired: one fired alarm. */
struct rt_fired {
    uint64_t row; /* its row in /events */
    uint64_t clock;
    int32_t thread;
    int32_t alarm;  /* index into /alarms, RT_NO_ALARM */
    int32_t chain;  /* -1 */
    uint32_t event; /* enum of controller/, as the recorder got it */
    uint32_t
        flags; /* 1 bcast, 2 late, 4 precond, 8 ignored, 16 default start, 32 api, 64 closes all */
    int32_t window; /* in force when it fired */
    uint64_t ip;
    int64_t requested, actual; /* absolute icounts of the thread, RT_NULL */
    uint64_t pass;             /* of the chain, from 0 */
};

enum rt_window_reason {
    RT_WINDOW_ALARM = 0,
    RT_WINDOW_PROGRAM_END = 1,
    RT_WINDOW_THREAD_END = 2,
    RT_WINDOW_FORK = 3,
    RT_WINDOW_EXEC = 4,
    RT_WINDOW_API = 5,
    RT_WINDOW_EXITED =
        252, /* the process exited, or called exec, before the thread recorded the end */
    RT_WINDOW_LIMIT = 253,  /* the file reached its size limit: RT_END_CUT */
    RT_WINDOW_KILLED = 254, /* the process was killed with the window open: RT_END_CUT */
    RT_WINDOW_OPEN = 255,   /* still open */
};

/* `truncated` of a window. Only windows with RT_END_RECORDED have a close_row. */
enum rt_window_end {
    RT_END_RECORDED = 0,
    RT_END_CUT = 1, /* stop_clock is the thread's last clock in the file */
    /* The thread waited, and never came back to record the end. A broadcast stop closed the window
     * (stop_alarm and reason name it), or the end of the process did; stop_clock is that moment.
     * Earlier versions wrote RT_END_CUT with RT_WINDOW_EXITED. */
    RT_END_UNRECORDED = 2,
};

/* /windows: one thread's part of one window. Appended when it opens, overwritten in place when it closes. */
struct rt_window {
    uint64_t open_row, close_row; /* of EV_WINDOW_OPEN and _CLOSE in /events; close_row RT_NO_ROW */
    uint64_t start_clock, stop_clock; /* ticks; stop 0 while open */
    int64_t start_icount, stop_icount, start_requested, stop_requested; /* absolute, RT_NULL */
    uint64_t start_late, stop_late;                                     /* ticks */
    int32_t ordinal, thread;
    int32_t chain;                   /* of the start alarm, -1 */
    int32_t start_alarm, stop_alarm; /* RT_NO_ALARM */
    uint16_t kind;                   /* 0 region of interest, 1 warm-up, 2 prolog, 3 epilog */
    uint8_t bcast, firing;           /* firing: this thread's alarm opened it */
    uint8_t reason;                  /* enum rt_window_reason */
    uint8_t truncated;               /* enum rt_window_end */
    uint16_t pad;
    uint32_t region; /* string id of its region's id in a regions file, 0 = none */
    uint32_t pad2;
    double weight, multiplier; /* as its region has them, 0 = not given */
};

/* /threads: one row per thread that recorded (or was seen by) the recorder. */
struct rt_thread {
    int32_t thread; /* tid, ours */
    uint32_t kernel_tid;
    uint32_t name;        /* string id */
    uint32_t start_image; /* string id */
    uint64_t start_routine;
    uint64_t started, ended; /* ticks, ended 0 = not seen */
    uint64_t rows;           /* in /events */
    uint64_t recorded;       /* records that the thread says it handed over */
    uint64_t dropped, waits, wait_ticks;
    uint64_t incomplete;   /* slots reserved but never filled */
    uint64_t own_ticks;    /* spent in the recorder's slow path */
    uint32_t interrupted;  /* system calls that failed with EINTR because of our signals */
    uint32_t state;        /* enum stream_thread_state */
    uint64_t instructions; /* in user mode, from activation to its end; 0 = not counted */
};

/* /pieces: a stretch of /events that is one thread's. They come in the order of their rows, without a gap; a long stretch has several. */
struct rt_piece {
    uint64_t row, rows;               /* of /events: its first, and how many */
    uint64_t first_clock, last_clock; /* ticks, of the first and the last of them */
    int32_t thread;
    uint32_t check; /* of this row itself */
};

/* /calibration: ticks against the kernel's clocks. */
struct rt_calibration {
    uint64_t ticks, monotonic_ns, realtime_ns, uncertainty; /* uncertainty in ticks */
};

/* /alarms: the alarms of all chains, from metadata. Fixed-width, NUL-padded text. */
struct rt_alarm {
    int32_t alarm, chain, position;
    char event[20];
    char type[20];
    char text[256]; /* as written in the chain */
};

enum rt_loss_kind {
    RT_LOSS_DROPPED = 1,    /* no room in the stream: dropped by the thread */
    RT_LOSS_INCOMPLETE = 2, /* reserved, never filled: the thread died in the act */
    RT_LOSS_UNTHREADED = 3, /* threads beyond the thread table */
    RT_LOSS_STRINGS = 4,    /* texts beyond the string table */
    RT_LOSS_CHUNKS =
        5, /* chunks whose header was unusable or missing in the sequence; count = chunks */
    RT_LOSS_STREAM_GONE = 6, /* recovered without the stream (rebooted node): count unknown, 0 */
    RT_LOSS_STORAGE =
        7, /* the writer could not write any more (disk full, limit): see end_reason */
};

/* /losses: what is not in this file. Totals: 1 comes with EV_DROPPED rows as they are reported; at
 * close a thread's unreported rest is added, so the sum over kind 1 of a thread = rt_thread.dropped. */
struct rt_loss {
    uint32_t kind;  /* enum rt_loss_kind */
    int32_t thread; /* tid, -1 none */
    uint64_t count;
    uint64_t clock; /* ticks when it was reported */
};

/* /maps: images. */
struct rt_map {
    uint64_t row, clock;
    uint64_t base;
    uint32_t path, build_id; /* string ids */
};

/* /comms: communicators as they became known. */
struct rt_comm {
    uint64_t row;
    uint32_t id, rank, size, parent;
    uint64_t identity; /* the same number on all its ranks; 0 not known */
    uint32_t sides;    /* 1: two groups; + 2: `rank` is one of the second */
    uint32_t pad;
};

/* /functions: event code -> name: all codes but MPI's, and enter and leave of the MPI functions that were called. */
struct rt_function {
    uint32_t code;
    char name[60];     /* "MPI_Send", "EV_WINDOW_OPEN" */
    char label[64];    /* "enter", "leave", "window opens" */
    char a[96], b[96]; /* what the payload words mean */
};

/* /value_instructions, /value_hot, /value_threads: in files of runs with REGTRACE_VALUES, written when the file is closed. */
struct rt_value_instruction {
    uint32_t number;          /* in its process, from 1 */
    uint32_t image, build_id; /* string ids; 0 not known, has none */
    uint32_t length;          /* of the instruction, 0 unknown */
    uint64_t address, offset; /* offset: from its image's base; the address where there is none */
    uint64_t samples;         /* that it was captured in */
    uint64_t periods;         /* that these stand for */
    uint64_t values;          /* tuples that the plug-in has made of it */
    double threshold;         /* of its hot list: one value in so many is in it; 0 no list */
    char code[32];            /* hexadecimal */
};

struct rt_value_hot {
    uint32_t number; /* of the instruction */
    uint32_t pad;
    uint64_t context0, context1, value;
    uint64_t count; /* in the list: * threshold is the estimate */
};

struct rt_value_thread {
    int32_t thread;
    uint32_t pad;
    uint64_t samples;                                    /* with values */
    uint64_t captured;                                   /* instructions in them */
    uint64_t unknown, unlearned, not_run, busy, skipped; /* samples without, by enum values_none */
    uint64_t damaged; /* samples with missing ends, or that name instructions that nobody knows */
    uint64_t unprocessed; /* instructions that were captured after the plug-in had failed */
    uint64_t strange;     /* tuples about addresses that were not captured */
    uint64_t records;     /* of the stream that all this was in */
};

/* --- the reader ------------------------------------------------------------------------------------- */

enum rt_file_state {
    RT_FILE_LIVE = 0,      /* its writer is alive */
    RT_FILE_CLOSED = 1,    /* complete */
    RT_FILE_RECOVERED = 2, /* complete as far as it could be */
    RT_FILE_ABANDONED = 3, /* its writer is gone without closing: `regtrace recover` */
};

/* What is known of a rank file. Strings are owned by the rank. */
struct rt_rank_info {
    const char *file;   /* name inside the run's folder, "rank-00003.h5" */
    int32_t rank, size; /* -1 unknown */
    bool confirmed;     /* by MPI itself */
    bool is_main;       /* owns "rank-NNNNN.h5", that is not a further process of the rank */
    uint32_t world;     /* 2 or more: MPI_Comm_spawn made its MPI world; 0: unknown */
    uint32_t pid;
    enum rt_file_state state;
    const char *host, *program,
        *end_reason;       /* end_reason: "" while live, "finished", "killed", "exec", ... */
    uint32_t clock_source; /* enum clock_source */
    double nominal_ns_per_tick;
    int64_t clock_offset_ns, clock_error_ns; /* to rank 0's node; applied by rt_rank_ns() */
    double clock_drift;
    uint64_t fired_total, ignored_total;
    uint64_t event_count; /* rows, the tail included */
    uint64_t left_out;    /* rows of the tail from a torn one on: not in event_count */
};

/* All small tables of a rank, in memory. Owned by the rank. */
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
    const struct rt_piece *pieces; /* NULL: the file has no such table, its regtrace was older */
    size_t piece_count;
    const struct rt_value_instruction *value_instructions; /* NULL: no values were profiled */
    size_t value_instruction_count;
    const struct rt_value_hot *value_hot; /* by instruction */
    size_t value_hot_count;
    const struct rt_value_thread *value_threads;
    size_t value_thread_count;
};

struct rt_run;  /* a folder of rank files */
struct rt_rank; /* one opened rank file */

/* Find the rank files of a run. `path`: the run's folder, its regtrace.h5, or one rank file. Files are
 * sorted by rank, main first. 0, or -errno with the text and the remedy: -ENOENT (no such path, or no rank
 * file in it), -EACCES, -ENOMEM. Close with rt_run_close(). A file of a live run that gets another name
 * after this (a process that comes before it takes rank-N.h5) is opened by the new one; rt_run_file()
 * says it then, the old text stays valid. */
RT_MUST_CHECK int rt_run_open(struct rt_run **run, const char *path, struct rt_error *e);
void rt_run_close(struct rt_run *run);

/* Who is still at it in a folder. A writer makes its file when there is something to write, in whole chunks or after a
 * second: a process that records may have none yet. */
struct rt_processes {
    unsigned living;       /* traced processes whose writers live, or may live on another node */
    unsigned file_follows; /* those of them that have recorded something and have no file yet */
    unsigned closing;      /* writers on this host that live although their process is gone */
    unsigned starting; /* writers on this host that have not said yet whose they are; living too */
};
void rt_run_processes(const char *dir, struct rt_processes *out);

/* Remove the folder of a run in which nothing was recorded and nothing was logged; one that was there before the run
 * stays, without what we had in it. False: it holds something, or somebody still works in it. */
bool rt_run_remove_empty(const char *dir);

/* Was it opened by the path of one rank file? Then that one is all of it. */
bool rt_run_is_one_file(const struct rt_run *run);
const char *rt_run_dir(const struct rt_run *run);
size_t rt_run_count(const struct rt_run *run);
const char *rt_run_file(const struct rt_run *run,
                        size_t i); /* "rank-00003.h5"; NULL out of range */

/* Open rank file `i` and read all small tables. A live file is a snapshot of this moment (open again for a
 * later one). 0 or -errno: -EBADMSG (not HDF5, damaged, cut: text says which and names the remedy), -EPROTO
 * (not regtrace's, or a newer schema). */
RT_MUST_CHECK int rt_rank_open(struct rt_rank **rank, const struct rt_run *run, size_t i,
                               struct rt_error *e);
RT_MUST_CHECK int rt_rank_open_file(struct rt_rank **rank, const char *path, struct rt_error *e);
void rt_rank_close(struct rt_rank *rank);
/* No events are read any more: the child process ends, the tables stay. */
void rt_rank_release(struct rt_rank *rank);

const struct rt_rank_info *rt_rank_info(const struct rt_rank *rank);
const struct rt_rank_tables *rt_rank_tables(const struct rt_rank *rank);

/* The text of a string id: "" for 0, "?" for one that is not in the file. Never NULL. */
const char *rt_rank_string(const struct rt_rank *rank, uint32_t id);

/* Metadata "key" as the traced process wrote it (control chains, options ...), NULL if absent. */
const char *rt_rank_metadata(const struct rt_rank *rank, const char *key);

/* The name of a code ("MPI_Send"), by this file's table; "?" if unknown. Never NULL. label may be NULL. */
const char *rt_rank_function(const struct rt_rank *rank, uint32_t code, const char **label);

/* Read up to `count` rows from row `first`; *got = how many (0 at the end). -EBADMSG if the data is damaged. */
RT_MUST_CHECK int rt_rank_read_events(struct rt_rank *rank, uint64_t first, size_t count,
                                      struct rt_event *out, size_t *got, struct rt_error *e);

/* How many rows of /pieces hold together from event 0 on; *events of them they are about. Whose the others are, all of them in an older
 * file, the events alone say: the last stretch of a file that is open is not told before it ends. */
size_t rt_rank_pieces(const struct rt_rank *rank, uint64_t *events);

/* All rows in one malloc'ed array (caller frees), in file order. */
RT_MUST_CHECK int rt_rank_load_events(struct rt_rank *rank, struct rt_event **out, size_t *count,
                                      struct rt_error *e);

/* Ticks to ns of CLOCK_MONOTONIC on rank 0's node (calibration and offset applied). */
int64_t rt_rank_ns(const struct rt_rank *rank, uint64_t ticks);
/* ... and the length of a span in ns. */
double rt_rank_span_ns(const struct rt_rank *rank, uint64_t ticks);

/* --- split ------------------------------------------------------------------------------------------- */

/* Where a window's events stand in a file. */
struct rt_extent {
    int32_t ordinal;
    bool known; /* it has a row in /windows */
    uint64_t first_row, end_row,
        events; /* end_row: behind the last; first_row RT_NO_ROW: no event */
};

struct rt_extents {
    struct rt_extent *rows; /* by ordinal, from 0 */
    size_t count;
    uint64_t outside; /* events of no window */
    uint64_t unknown; /* of windows without a row in /windows: their opening was lost */
    struct rt_meaning {
        uint64_t row;
        uint64_t
            until; /* row of what says otherwise: the thread's next EV_AFFINITY; RT_NO_ROW: nothing does */
        struct rt_event event;
    } * meanings; /* what marks mean (EV_MARK_TYPE, EV_MARK_LABEL) and where threads may run (EV_AFFINITY), by row */
    size_t meaning_count;
};

/* Read all events once to find them. 0 or -errno with the text. Free with rt_extents_free(). */
RT_MUST_CHECK int rt_rank_extents(struct rt_rank *rank, struct rt_extents *out, struct rt_error *e);
void rt_extents_free(struct rt_extents *x);

/* Write one window as a rank file of its own to `path`, with all that is needed to read it; share/doc/schema.md says what
 * differs from the old file. 0 or -errno with the text; then there is no file. */
RT_MUST_CHECK int rt_rank_split(struct rt_rank *rank, const struct rt_extents *x,
                                const struct rt_extent *window, const char *path,
                                struct rt_error *e);

/* --- recover and index -------------------------------------------------------------------------------- */

/* What recover did to one file. */
struct rt_recovered {
    char file[256];
    enum {
        RT_RECOVER_DONE,
        RT_RECOVER_STREAM_GONE,
        RT_RECOVER_LIVE,
        RT_RECOVER_FAILED,
        RT_RECOVER_DAMAGED, /* it was complete; its stream is gone since then, so nothing can mend it */
        RT_RECOVER_MISSING, /* it was complete and has been deleted */
    } result;
    uint64_t from_file, from_stream; /* rows */
    char text[512];                  /* why, for FAILED and DAMAGED; else what is missing */
};

/* Who is told of it. Either may be NULL. step: so many rows of that file are done, of `total`. */
struct rt_recover_listener {
    void (*report)(void *context, const struct rt_recovered *r);
    void (*step)(void *context, const char *file, uint64_t rows, uint64_t total);
    void *context;
};

/* Finish what killed writers left in `dir`: read by SWMR into a new file, drain what the stream file still
 * holds, rename over the old one; a writer that never got to open its file counts too. Closed files and those
 * of living writers are left alone (`report` is called for the latter as RT_RECOVER_LIVE); closed ones are read as a
 * whole, and reported where that fails. Then builds regtrace.h5. 0 if every file is complete or live, -EIO if one
 * failed or is damaged, else -errno. */
RT_MUST_CHECK int rt_recover_dir(const char *dir, const struct rt_recover_listener *listener,
                                 struct rt_error *e);

/* (Re)build DIR/regtrace.h5 from the closed rank files, atomically; files not closed are listed in /ranks and left
 * out of the virtual datasets. */
RT_MUST_CHECK int rt_index_build(const char *dir, struct rt_error *e);

/* What regtrace.h5 says: rows of /ranks, and the lengths of its virtual datasets. */
struct rt_index_row {
    int32_t rank;
    uint32_t complete;
    uint64_t events, fired, windows, threads;
    char file[80];
};
struct rt_index_totals {
    uint64_t rows, events, fired, windows, threads; /* rows: of /ranks; UINT64_MAX: not there */
};

/* Read it back; *rows is malloc'ed (caller frees). -ENOENT, -EBADMSG (damaged), -ENOMEM. */
RT_MUST_CHECK int rt_index_read(const char *dir, struct rt_index_totals *totals,
                                struct rt_index_row **rows, struct rt_error *e);

#endif
