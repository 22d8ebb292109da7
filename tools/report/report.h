/* SPDX-License-Identifier: BSD-3-Clause
 * Data that `regtrace report` has about a run after reading it: plain numbers, one struct per rank
 * file. */
#ifndef REGTRACE_TOOLS_REPORT_REPORT_H
#define REGTRACE_TOOLS_REPORT_REPORT_H

#include "base/format/memory_recording.h"
#include "tools/addresses.h"
#include "tools/json.h"
#include "tools/report/calls/call_sites.h"
#include "tools/report/calls/call_tree.h"
#include "tools/report/report_pieces.h"
#include "tools/report/report_profile.h"
#include "tools/tools.h"
#include "writer/writer.h"

/* EVENT_MPI_FUNCTION() returns no more: three categories of 256. */
#define REPORT_FUNCTIONS EVENT_MPI_FUNCTIONS_MOST

#define REPORT_COUNTERS 8 /* REGTRACE_EVENTS takes no more */

/* One MPI function on one rank. Times are inclusive: from a call's enter to its leave. */
struct report_calls {
    uint64_t calls, nested; /* nested: within another recorded call; `calls` has them too */
    double time_ns;         /* without nested calls, so that sums are time in MPI */
    uint64_t bytes;         /* given to the calls: sent, contributed, room to receive */
    uint64_t cut;           /* edges of calls that lie outside the window */
    /* events counted in outermost calls, by index of report_rank.counters */
    uint64_t counted[REPORT_COUNTERS];
};

/* One row of /windows, with clocks in ns since the run's origin. */
struct report_window {
    struct rt_window row;
    int64_t start_ns, stop_ns; /* stop_ns: only if has_stop */
    bool has_stop;
    /* "default start", "API" or "unknown"; NULL: an alarm */
    const char *opened_by;
    char *region;          /* id of its region; "": none */
    double mpi_ns;         /* in outermost calls */
    uint64_t calls, bytes; /* bytes: as in report_calls */
};

struct report_thread {
    struct rt_thread row;
    char *name;
    double window_ns, mpi_ns;
    double life_ns; /* from its start to its end; 0: unknown */
    uint64_t calls;
};

struct report_alarm {
    int32_t alarm;
    bool periodic; /* opens windows at even distances of instructions */
    char *text;
};

/* One event of REGTRACE_EVENTS, in all windows of a rank. */
struct report_counter {
    char name[128];
    uint64_t count, windows; /* windows: of all threads */
    /* per mille of the time in which its counter ran; the least of all windows */
    uint32_t running;
    struct {
        double count, ns;
    } timed;                /* of the windows whose length is known */
    uint64_t calls, in_mpi; /* MPI calls in which it was counted; its count in them */
};

/* A function of the program that REGTRACE_FUNCTIONS recorded, on one rank. */
struct report_function {
    uint64_t calls, cut;      /* cut: edges that lie outside the window */
    double total_ns, self_ns; /* self: without the recorded functions that it calls */
};

/* Sums of EV_MEMORY events: windows of threads in a run with REGTRACE_MEMORY. */
struct report_memory {
    uint64_t windows, bytes;
    uint64_t ends[MEMORY_NEVER + 1]; /* by enum memory_end */
};

struct report_rank {
    /* error: why the file could not be read; the other fields are then empty. NULL: it was read. */
    char *file, *host, *program, *end_reason, *error;
    struct rt_rank_info info; /* its texts are not valid: use those above */
    struct report_window *windows;
    size_t window_count;
    struct report_thread *threads;
    size_t thread_count;
    struct report_alarm *alarms;
    size_t alarm_count;
    struct report_calls *functions; /* REPORT_FUNCTIONS of them */
    /* mpi_window_ns: windows of threads that called MPI */
    double window_ns, mpi_ns, mpi_window_ns;
    /* events: in the windows of report.windows */
    uint64_t calls, bytes, received, events;
    uint64_t lost_events, loss[RT_LOSS_KINDS];
    bool lost_unknown; /* more was lost; how much is unknown */
    uint64_t dropped, waits;
    uint64_t interrupted; /* system calls that failed with EINTR because of our signals */
    /* Completed requests that were made outside the window: unknown whether they are receives. */
    uint64_t completions_unknown;
    uint64_t completions_skipped; /* requests whose completion could not be recorded */
    uint64_t unnumbered;          /* how often the numbering of messages had to end */
    /* event_cost_ns: of one event, as measured at the start; 0: unknown */
    double wait_ns, own_ns, event_cost_ns;
    uint64_t unmatched; /* leaves without enter, or enters without leave */
    /* start of its first thread, CLOCK_MONOTONIC of rank 0's node */
    int64_t first_ns;
    int64_t realtime_minus_monotonic_ns;
    bool has_realtime;
    struct report_counter counters[REPORT_COUNTERS];
    size_t counter_count;
    bool counts_events;   /* REGTRACE_EVENTS was given */
    bool names_work;      /* REGTRACE_FUNCTIONS or REGTRACE_SAMPLE was given */
    bool is_counting_run; /* REGTRACE_COUNT */
    bool has_functions;   /* REGTRACE_FUNCTIONS was given */
    bool default_start;   /* REGTRACE_DEFAULT_START */
    bool is_profiled;     /* REGTRACE_MODE=profile */
    bool has_profile;     /* calls and their times are those of the profile, of the whole run */
    bool is_part;         /* a file of `regtrace split`, with one window */
    bool is_in_mpi;       /* MPI came up in the process, inside a window or outside */
    bool records_mpi;     /* REGTRACE_MPI: windows have MPI calls */
    /* by item of report.addresses, program_room of them */
    struct report_function *program_functions;
    size_t program_room;
    uint64_t program_unmatched; /* enters or leaves without the other */
    struct report_memory memory;
};

struct report_text_item {
    int32_t rank;
    char *text;
};

struct report {
    char *dir;
    const struct rank_list *rank_list;      /* the ranks of this report, while it is collected */
    const struct report_observer *observer; /* NULL: none */
    /* all events, calls and times in this report are of these windows */
    struct window_span windows;
    struct report_rank *ranks;
    size_t rank_count, failed;
    int32_t size;     /* ranks of the world; -1: unknown */
    int32_t *missing; /* ranks of the world without a file */
    size_t missing_count;
    unsigned living; /* traced processes that still run */
    char **chains;
    size_t chain_count;
    /* names of the MPI functions that occur; else NULL */
    char *names[REPORT_FUNCTIONS];
    struct addresses addresses; /* of the program's functions and of call sites */
    struct call_sites call_sites;
    struct call_tree call_tree;
    struct report_profile profile;
    struct report_text_item *never_fired;
    size_t never_fired_count;
    char **log;
    size_t log_count;
    /* Start of the earliest thread of the run, CLOCK_MONOTONIC of rank 0's node. */
    int64_t origin_ns;
    int64_t origin_realtime_ns; /* since 1970; 0: unknown */
    /* NULL: not looked for, or fewer than two ranks have windows and MPI */
    struct report_waits *waits;
};

/* An estimate of the whole run from its windows, beside its true totals. Sums over all threads with
 * windows that an estimate can use. */
enum report_quantity {
    ESTIMATE_INSTRUCTIONS,
    ESTIMATE_TIME,
    ESTIMATE_MPI_TIME,
    ESTIMATE_MPI_CALLS,
    ESTIMATES
};
enum report_method { METHOD_NONE, METHOD_UNIFORM, METHOD_WEIGHT, METHOD_MULTIPLIER };
struct report_estimate {
    unsigned methods; /* bits 1 << enum report_method, of the estimated threads */
    uint64_t windows, threads;
    /* Threads left out: they have such windows, but their instructions were not counted. */
    uint64_t uncounted;
    uint64_t unfinished; /* windows left out: truncated, or without instruction counts */
    double weights;      /* sum of the weights that were used */
    struct {
        double estimate, total;
        bool has_estimate, has_total;
    } of[ESTIMATES];
};
/* Estimates the whole run. `whole`: a run whose totals are known (a counting run, or one recorded
 * from start to end), or NULL. Returns false if no windows stand for a whole run. */
bool report_estimate(const struct report *r, const struct report *whole,
                     struct report_estimate *out);
const char *report_method_name(enum report_method method);
const char *report_quantity_name(enum report_quantity quantity);
void report_print_estimate(FILE *out, const struct report_estimate *e);

/* Reads a whole run, or the windows of a span of it. Keeps ranks that cannot be read, with their
 * error. Returns 0, or -errno with the text if there is nothing to report. Call report_free() in
 * both cases. */
RT_MUST_CHECK int report_collect(struct report *r, const struct rt_run *run,
                                 const struct rank_list *ranks, const struct window_span *windows,
                                 struct rt_error *e);
/* The same; `observer` (NULL: none) gets all pieces, those of waits by report_collect_waits(). */
RT_MUST_CHECK int report_collect_observed(struct report *r, const struct rt_run *run,
                                          const struct rank_list *ranks,
                                          const struct window_span *windows,
                                          const struct report_observer *observer,
                                          struct rt_error *e);
void report_free(struct report *r);
/* Gives a piece of that rank to the observer. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int report_observe(const struct report *r, int32_t rank,
                                 const struct report_piece *piece);

/* Reads one rank file: report_rank.c. Returns 0, or -errno with the text (-ENOMEM, -EBADMSG
 * ...). */
RT_MUST_CHECK int report_read_rank(struct report *r, struct report_rank *out, struct rt_rank *rank,
                                   struct progress *p, struct rt_error *e);

/* Returns the text of an alarm of that rank, or NULL. */
const char *report_alarm_text(const struct report_rank *rank, int32_t alarm);

/* How one MPI function (f >= 0), or all of MPI (f < 0), spreads over the main processes of ranks,
 * and over further processes that called MPI, as those of another world do. */
struct report_spread {
    uint64_t calls, bytes, nested;
    double total_ns, mean_ns, max_ns; /* mean: over these processes, also those without a call */
    const struct report_rank *max;    /* the process with max_ns */
};
/* Returns false if nothing was called. */
bool report_spread_of(const struct report *r, int f, struct report_spread *out);

const char *report_window_reason(uint8_t reason);
/* Returns the name of an MPI function that occurs in the run; "?": it does not. */
const char *report_mpi_name(const struct report *r, uint32_t function);
/* Returns why the report has no MPI call, with the remedy. */
const char *report_why_no_call(const struct report *r);
/* Keeps the name of the function of an event's code. */
void report_name_function(struct report *r, const struct rt_rank *rank, uint32_t code);
/* Returns the thread of that number, or NULL. */
struct report_thread *report_find_thread(const struct report_rank *k, int32_t thread);
/* Writes the rank of a process, with its MPI world and pid if the rank alone is ambiguous. */
void report_rank_name(char out[48], const struct report_rank *k);

const char *report_file_state(const struct report_rank *rank);
/* Returns how many events of a file that its writer left are unreadable until `regtrace recover`,
 * because an incomplete row precedes them. */
uint64_t report_left_out(const struct report_rank *k);
const char *report_window_kind(uint16_t kind);
const char *report_loss_name(unsigned kind);

/* Returns `count` zeroed items of `bytes` each, to be freed. Without memory warns that `what`, a
 * part of the report in the plural, is left out, and returns NULL. */
void *report_room(size_t count, size_t bytes, const char *what);

/* Writes a duration for people, such as "1.25 ms". Returns `out`. */
const char *report_time_text(char out[24], double ns);
/* Writes a size for people, such as "1.2 MiB". Returns `out`. */
const char *report_bytes_text(char out[24], uint64_t bytes);

/* top: functions shown, 0: all. all: every window and rank, however many. */
void report_print_text(FILE *out, struct report *r, const struct report_estimate *estimate,
                       size_t top, bool all);
void report_print_mpi(FILE *out, const struct report *r, size_t top);
void report_print_windows(FILE *out, const struct report *r, bool all);
/* Prints the totals of a counting run; nothing for other runs. report_instructions.c */
void report_instructions_print(FILE *out, const struct report *r, bool all);
/* Prints what recording has cost: report_overhead.c */
void report_overhead_print(FILE *out, const struct report *r);
void report_print_json(FILE *out, struct report *r, const struct report_estimate *estimate);
/* Writes the members of that object. Lists of windows and of pairs of ranks are null if they have
 * more than most_rows. */
void report_json_members(struct json *j, struct report *r, const struct report_estimate *estimate,
                         size_t most_rows);

/* --- functions of the program: report_functions.c --------------------------------------------- */

/* Open calls of one thread, while its events are read in order. */
struct function_stack {
    int32_t thread;
    bool gap; /* events were dropped: a leave may come whose enter is lost */
    struct entered_function {
        uint32_t item;
        uint64_t clock, within; /* within: ticks in the functions that it called */
    } * open;
    size_t depth, room;
    uint32_t *active; /* by item: how many of its calls are open */
    size_t active_room;
};

/* Zero-initialize before use; report_functions_end() frees it. */
struct function_pass {
    struct function_stack *stacks;
    size_t count, latest;
};

/* Takes the next event of a rank, of any code. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int report_functions_take(struct report *r, struct report_rank *k,
                                        struct function_pass *p, const struct rt_rank *rank,
                                        const struct rt_event *ev);
void report_functions_end(struct function_pass *p);
/* Prints nothing if no functions were recorded. */
void report_functions_print(FILE *out, const struct report *r, size_t top);
void report_functions_json(struct json *j, const struct report *r);

/* --- counters: report_counters.c -------------------------------------------------------------- */

/* Takes an EV_COUNTER event of `window` (NULL: unknown), or an EV_MPI_COUNTER event in a call of
 * `function`. */
void report_counters_take(struct report_rank *k, const struct rt_rank *rank,
                          const struct rt_event *ev, const struct report_window *window,
                          struct report_calls *function);
/* Prints nothing if nothing was counted. */
void report_counters_print(FILE *out, const struct report *r, size_t top);
void report_counters_json(struct json *j, const struct report_rank *k);
/* Writes the counts in calls of one function, as a member "counted". */
void report_counters_json_calls(struct json *j, const struct report_rank *k,
                                const struct report_calls *c);

/* --- memory traces: report_memory.c ----------------------------------------------------------- */

void report_memory_take(struct report_rank *k, const struct rt_event *ev);
/* Prints nothing if no memory trace was recorded. */
void report_memory_print(FILE *out, const struct report *r);
void report_memory_json(struct json *j, const struct report_rank *k); /* a member "memory" */

/* --- how ranks differ: report_imbalance.c ----------------------------------------------------- */

/* Compares the windows that more than one rank has. Prints nothing if there are none, or no MPI
 * calls. all: every window, not only those that lose most. */
void report_uneven_print(FILE *out, const struct report *r, bool all);
/* Writes a member "windows_over_ranks". */
void report_uneven_json(struct json *j, const struct report *r);

/* --- who waits for whom: report_waits.c ------------------------------------------------------- */

/* Reads all events once more, if at least that many ranks call MPI; call it after report_collect().
 * If it fails, report_waits_print() prints the reason. */
void report_collect_waits(struct report *r, const struct rt_run *run, const struct rank_list *ranks,
                          unsigned least);
/* Returns the windows' lengths and times outside MPI, by ordinal. Sets *why_not to the reason why
 * they are not known, else to NULL. */
const struct ideal_window *report_ideal_windows(const struct report *r, size_t *count,
                                                const char **why_not);
/* Returns all of them together; NULL: no waits were looked for. */
const struct ideal_run *report_ideal_run(const struct report *r);
void report_free_waits(struct report *r);
void report_waits_print(FILE *out, struct report *r, size_t top);
/* Prints what decides how long windows take. top: activities shown, 0: all; all: every window and
 * rank. */
void report_print_critical_path(FILE *out, struct report *r, size_t top, bool all);
/* Writes the members "waits", "messages" ... */
void report_waits_json(struct json *j, struct report *r, size_t most_rows);

/* --- rates: report_rates.c; of all given ranks together; NAN: unknown ------------------------- */

/* These return true if an event of that name counts cycles, instructions or misses. */
bool report_event_is_cycles(const char *name);
bool report_event_is_instructions(const char *name);
bool report_event_is_miss(const char *name);
/* Returns the event's count per second that threads spent in windows. */
double report_per_second(const struct report_rank *ranks, size_t n, const char *event);
/* Returns the count of an event of misses per 1000 instructions; NAN for other events. */
double report_per_1000(const struct report_rank *ranks, size_t n, const char *event);
/* names: a rank that has all events. */
void report_rates_print(FILE *out, const struct report *r, const struct report_rank *names);
/* These write members of an event's object, and an object "rates". */
void report_rates_json_event(struct json *j, const struct report_rank *ranks, size_t n,
                             const char *event);
void report_rates_json(struct json *j, const struct report_rank *ranks, size_t n);

#endif
