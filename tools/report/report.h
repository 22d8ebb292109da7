/* SPDX-License-Identifier: BSD-3-Clause
 * What `regtrace report` knows of a run after reading it: plain numbers, one struct per rank file. */
#ifndef REGTRACE_TOOLS_REPORT_REPORT_H
#define REGTRACE_TOOLS_REPORT_REPORT_H

#include "base/format/memory.h"
#include "tools/addresses.h"
#include "tools/json.h"
#include "tools/tools.h"
#include "writer/writer.h"

#define REPORT_FUNCTIONS 768 /* EVENT_MPI_FUNCTION() cannot give more: three categories of 256 */

#define REPORT_COUNTERS 8 /* REGTRACE_EVENTS takes no more */

/* One MPI function on one rank. Times are inclusive: from the outermost or nested enter to its leave. */
struct report_calls {
    uint64_t calls, nested; /* nested: made inside another recorded call, in `calls` too */
    double time_ns;         /* nested ones left out, so that sums are time in MPI */
    uint64_t bytes;         /* as the calls were given: sent, contributed or room to receive */
    uint64_t cut;           /* the real edge lies outside the window */
    uint64_t
        counted[REPORT_COUNTERS]; /* in outermost ones, by the events of report_rank.counters */
};

/* One row of the windows, clocks as ns since the run's origin. */
struct report_window {
    struct rt_window row;
    int64_t start_ns, stop_ns; /* stop: only if has_stop */
    bool has_stop;
    const char *opened_by; /* "default start", "API", or NULL: an alarm */
    char *region;          /* its region's id, "" if none */
    double mpi_ns;         /* outermost calls in it */
    uint64_t calls, bytes; /* bytes: as the calls were given */
};

struct report_thread {
    struct rt_thread row;
    char *name;
    double window_ns, mpi_ns;
    double life_ns; /* from its start to its end, 0 unknown */
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
    uint32_t running;        /* per mille of the time, where it was least */
    struct {
        double count, ns;
    } timed;                /* of the windows whose length is known */
    uint64_t calls, in_mpi; /* MPI calls in which it was counted, and how many in them */
};

/* A function of the program that REGTRACE_FUNCTIONS recorded, on one rank. */
struct report_function {
    uint64_t calls, cut;      /* cut: real edges that lie outside the window */
    double total_ns, self_ns; /* self: without the recorded functions that it calls */
};

/* Windows of threads in a run with REGTRACE_MEMORY: EV_MEMORY. */
struct report_memory {
    uint64_t windows, bytes;
    uint64_t ends[MEMORY_NEVER + 1]; /* by enum memory_end */
};

struct report_rank {
    char *file, *host, *program, *end_reason,
        *error;               /* error: could not be read (the rest is empty) */
    struct rt_rank_info info; /* its texts are not valid: those above are */
    struct report_window *windows;
    size_t window_count;
    struct report_thread *threads;
    size_t thread_count;
    struct report_alarm *alarms;
    size_t alarm_count;
    struct report_calls *functions;          /* REPORT_FUNCTIONS */
    double window_ns, mpi_ns, mpi_window_ns; /* the last: windows of threads that called MPI */
    uint64_t calls, bytes, received, events; /* events: in the windows asked for */
    uint64_t lost_events, loss[RT_LOSS_STORAGE + 1];
    bool lost_unknown; /* something is missing whose number nobody knows */
    uint64_t dropped, waits;
    uint64_t interrupted; /* system calls that failed with EINTR because of our signals */
    uint64_t
        completions_unknown; /* of requests made outside the window: nobody knows whether receives */
    uint64_t completions_skipped; /* requests whose completion could not be recorded */
    double wait_ns, own_ns,
        event_cost_ns;  /* the last: one event, as measured at the start; 0 unknown */
    uint64_t unmatched; /* leaves without enter, or enters without leave */
    int64_t first_ns;   /* start of its first thread, CLOCK_MONOTONIC of rank 0's node */
    int64_t realtime_minus_monotonic_ns;
    bool has_realtime, alive;
    struct report_counter counters[REPORT_COUNTERS];
    size_t counter_count;
    bool counts_events;                        /* REGTRACE_EVENTS was given */
    bool is_counting_run;                      /* REGTRACE_COUNT */
    bool default_start;                        /* REGTRACE_DEFAULT_START */
    bool is_part;                              /* one window's file of `regtrace split` */
    struct report_function *program_functions; /* by items of report.addresses, so many: */
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
    struct window_span windows; /* all that is said of events, calls and times is of these */
    struct report_rank *ranks;
    size_t rank_count, failed;
    int32_t size;     /* ranks of the world, -1 unknown */
    int32_t *missing; /* ranks of the world without a file */
    size_t missing_count;
    unsigned living; /* traced processes that are still at work */
    char **chains;
    size_t chain_count;
    char *names[REPORT_FUNCTIONS]; /* of MPI functions that occur */
    struct addresses addresses;    /* of the program's functions */
    struct report_text_item *never_fired;
    size_t never_fired_count;
    char **log;
    size_t log_count;
    int64_t
        origin_ns; /* CLOCK_MONOTONIC on rank 0's node: start of the earliest thread of the run */
    int64_t origin_realtime_ns; /* since 1970; 0 unknown */
    struct report_waits *waits; /* NULL: not looked for, or fewer than two ranks call MPI */
};

/* What the windows say of the whole run, and what it was. Sums over all threads that have windows to estimate from. */
enum report_quantity {
    ESTIMATE_INSTRUCTIONS,
    ESTIMATE_TIME,
    ESTIMATE_MPI_TIME,
    ESTIMATE_MPI_CALLS,
    ESTIMATES
};
enum report_method { METHOD_NONE, METHOD_UNIFORM, METHOD_WEIGHT, METHOD_MULTIPLIER };
struct report_estimate {
    unsigned methods; /* bits 1 << enum report_method of the threads that were estimated */
    uint64_t windows, threads;
    uint64_t uncounted;  /* threads with such windows whose instructions nobody counted: left out */
    uint64_t unfinished; /* windows left out: truncated, or without instruction counts */
    double weights;      /* sum of the weights that were used */
    struct {
        double estimate, total;
        bool has_estimate, has_total;
    } of[ESTIMATES];
};
/* `whole`: a run whose totals are known (a counting run, or one recorded from start to end), or NULL. False: there are no windows
 * that stand for a whole run. */
bool report_estimate(const struct report *r, const struct report *whole,
                     struct report_estimate *out);
const char *report_method_name(enum report_method method);
const char *report_quantity_name(enum report_quantity quantity);
void report_print_estimate(FILE *out, const struct report_estimate *e);

/* Read a whole run, or of it the windows of a span. Ranks that cannot be read are kept with their error. 0, or -errno with the text when there is
 * nothing to read at all. Free with report_free(). */
RT_MUST_CHECK int report_collect(struct report *r, const struct rt_run *run,
                                 const struct rank_list *ranks, const struct window_span *windows,
                                 struct rt_error *e);
void report_free(struct report *r);

/* One rank file: report_rank.c. -ENOMEM or -EBADMSG with the text. */
RT_MUST_CHECK int report_read_rank(struct report *r, struct report_rank *out, struct rt_rank *rank,
                                   struct progress *p, struct rt_error *e);

/* The text of an alarm of that rank, NULL if none. */
const char *report_alarm_text(const struct report_rank *rank, int32_t alarm);

/* How one MPI function (f >= 0), or all of MPI (f < 0), spreads over the ranks' main processes. */
struct report_spread {
    uint64_t calls, bytes, nested;
    double total_ns, mean_ns, max_ns; /* mean over all ranks read, also those without a call */
    int32_t max_rank;
};
/* false if nothing was called. */
bool report_spread_of(const struct report *r, int f, struct report_spread *out);

const char *report_window_reason(uint8_t reason);
/* Writes the rank of a process, with its MPI world and pid if the rank alone is ambiguous. */
void report_rank_name(char out[48], const struct report_rank *k);

const char *report_file_state(const struct report_rank *rank);
/* Events of a file that its writer left, which nobody sees until `regtrace recover`: a row before them is torn. */
uint64_t report_left_out(const struct report_rank *k);
const char *report_window_kind(uint16_t kind);
const char *report_loss_name(unsigned kind);

/* A span as a person reads it: "1.25 ms". Returns `out`. */
const char *report_time_text(char out[24], double ns);
/* A size: "1.2 MiB". */
const char *report_bytes_text(char out[24], uint64_t bytes);

/* top: functions shown, 0 = all. all: every window and rank, however many. */
void report_print_text(FILE *out, const struct report *r, const struct report_estimate *estimate,
                       size_t top, bool all);
void report_print_windows(FILE *out, const struct report *r, bool all);
/* Of a counting run; nothing for others: report_instructions.c. */
void report_instructions_print(FILE *out, const struct report *r, bool all);
void report_print_json(FILE *out, const struct report *r, const struct report_estimate *estimate);

/* --- open.c, shared by report, dump and check ------------------------------------------------------------ */

/* Open a run; wait up to wait_seconds for files whose process is gone but whose writer still lives; build regtrace.h5
 * where it is missing and all files are closed. A message is printed on failure. NULL then. */
struct rt_run *tool_open_run(const char *command, const char *path, uint64_t wait_seconds);

/* Start of the earliest thread of a run, ns of CLOCK_MONOTONIC on the node of rank 0; 0 if unknown. */
int64_t tool_run_origin(const struct rt_run *run);

/* Is the traced process of this file still there (same host only)? */
bool tool_process_alive(const struct rt_rank_info *info);

/* --- functions of the program: report_functions.c ------------------------------------------------ */

/* Open calls of one thread while the events pass by. */
struct function_stack {
    int32_t thread;
    bool gap; /* events were dropped: leaves may come whose enter is lost */
    struct open_function {
        uint32_t item;
        uint64_t clock, within; /* within: ticks of the functions that it called */
    } * open;
    size_t depth, room;
    uint32_t *active; /* by item: how often it is open */
    size_t active_room;
};

/* All zero at first; report_functions_end() frees it. */
struct function_pass {
    struct function_stack *stacks;
    size_t count, latest;
};

/* Any event. 0 or -ENOMEM. */
RT_MUST_CHECK int report_functions_take(struct report *r, struct report_rank *k,
                                        struct function_pass *p, const struct rt_rank *rank,
                                        const struct rt_event *ev);
void report_functions_end(struct function_pass *p);
/* Nothing where none were recorded. */
void report_functions_print(FILE *out, const struct report *r, size_t top);
void report_functions_json(struct json *j, const struct report *r);

/* --- counters: report_counters.c ---------------------------------------------------------------- */

/* An EV_COUNTER, of that window (NULL: unknown); or an EV_MPI_COUNTER in a call of this function. */
void report_counters_take(struct report_rank *k, const struct rt_rank *rank,
                          const struct rt_event *ev, const struct report_window *window,
                          struct report_calls *function);
/* Nothing where nothing was counted. */
void report_counters_print(FILE *out, const struct report *r, size_t top);
void report_counters_json(struct json *j, const struct report_rank *k);
/* Those of one function, as a member "counted". */
void report_counters_json_calls(struct json *j, const struct report_rank *k,
                                const struct report_calls *c);

/* --- memory traces: report_memory.c --------------------------------------------------------------- */

void report_memory_take(struct report_rank *k, const struct rt_event *ev);
/* Nothing where none were recorded. */
void report_memory_print(FILE *out, const struct report *r);
void report_memory_json(struct json *j, const struct report_rank *k); /* a member "memory" */

/* --- how ranks differ: report_uneven.c ------------------------------------------------------------ */

/* By windows that more than one rank has; nothing where there are none or no MPI. all: every window, not those that lose most. */
void report_uneven_print(FILE *out, const struct report *r, bool all);
void report_uneven_json(struct json *j, const struct report *r); /* a member "windows_over_ranks" */

/* --- who waits for whom: report_waits.c ----------------------------------------------------------- */

/* Behind report_collect(): another pass over all events. What fails is told by report_waits_print(). */
void report_collect_waits(struct report *r, const struct rt_run *run,
                          const struct rank_list *ranks);
void report_free_waits(struct report *r);
void report_waits_print(FILE *out, const struct report *r);
void report_waits_json(struct json *j,
                       const struct report *r); /* members "waits", "messages" ... */

/* --- rates: report_rates.c. Of these ranks together; NAN where nobody knows ------------------------ */

/* Does an event of that name count cycles, or instructions? Misses? */
bool report_event_is_cycles(const char *name);
bool report_event_is_instructions(const char *name);
bool report_event_is_miss(const char *name);
/* Of the time of threads in windows. */
double report_per_second(const struct report_rank *ranks, size_t n, const char *event);
/* Of an event that counts misses: per 1000 instructions. */
double report_per_1000(const struct report_rank *ranks, size_t n, const char *event);
/* names: a rank that has all events. */
void report_rates_print(FILE *out, const struct report *r, const struct report_rank *names);
/* Members of an event's object; and an object "rates". */
void report_rates_json_event(struct json *j, const struct report_rank *ranks, size_t n,
                             const char *event);
void report_rates_json(struct json *j, const struct report_rank *ranks, size_t n);

#endif
