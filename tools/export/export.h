/* SPDX-License-Identifier: BSD-3-Clause
 * Lets `regtrace export` report a run's events, in the order of time, to one format, with a
 * beginning and an end for every span.
 *
 * span_walk.c knows which spans are open in each thread and which of them are in the selection
 * (ranks, windows, a range of time); a format writes what is reported to it. Times are ns from the
 * run's origin (when the first thread of any rank began to be traced) and never go back within a
 * thread. */
#ifndef REGTRACE_TOOLS_EXPORT_EXPORT_H
#define REGTRACE_TOOLS_EXPORT_EXPORT_H

#include "tools/channels/function_numbers.h"
#include "tools/name_numbers.h"
#include "tools/streams/shares.h"
#include "tools/streams/streams.h"
#include "tools/export/export_messages.h"
#include "tools/tools.h"

#include <limits.h>

struct export_options {
    const char *path; /* of the run */
    const char *out;
    const struct export_format *format; /* NULL: not chosen yet */
    struct rank_list ranks;
    struct window_span windows;
    int64_t from_ns, to_ns; /* to_ns: INT64_MAX if not given */
    bool force;
    uint64_t wait;
};

/* Kinds of spans. */
enum export_kind {
    EXPORT_WINDOW,
    EXPORT_REGION,
    EXPORT_MARK, /* pushed marks; set marks are points */
    EXPORT_MPI,
    EXPORT_FUNCTION,
    EXPORT_SIGNAL,
    EXPORT_KINDS,
};

struct export_span {
    enum export_kind kind;
    uint32_t name; /* for export_name() */
    uint32_t type; /* of a mark */
    /* Window: its ordinal. Mark: the pushed value. Signal: its number. MPI: code of the enter
     * event. Otherwise 0. */
    int64_t value;
    uint32_t comm; /* MPI: from its enter; 0: unknown */
    int32_t peer;  /* MPI: from its enter; INT32_MIN: none */
    uint64_t bytes;
};

/* The process of one rank file. */
struct export_process {
    const struct rt_rank *rank;
    uint32_t first_stream, stream_count;
    bool known_marks[100]; /* types whose title and kind are known */
    bool stacks[100];
    uint32_t titles[100]; /* numbers in export.titles */
};

/* Counts of what could not be shown as it was recorded. */
struct export_tally {
    uint64_t events; /* reported to the format */
    /* Spans without an end. They end at the thread's last event or where events were dropped. */
    uint64_t unfinished;
    uint64_t unbegun; /* ends without a beginning: left out */
    /* Times that a span was ended and begun again because a span below it ended. */
    uint64_t crossing;
    uint64_t files_left_out;
};

/* The run that is exported. */
struct export
{
    const struct export_options *options;
    struct streams *streams;
    const struct thread_stream *all;
    uint32_t count; /* of streams */
    struct export_process *processes;
    uint32_t process_count;
    uint32_t *process_of; /* by stream */
    struct function_numbers *functions;
    struct names names[EXPORT_KINDS]; /* except functions */
    struct names titles, mark_keys;
    uint32_t *mark_labels; /* by number in mark_keys: a number in titles */
    size_t mark_label_room;
    int64_t origin, last_ns;         /* last_ns: of what was reported */
    struct export_messages messages; /* empty if the format takes none */
    struct comms *comms;             /* NULL if the format takes no messages */
    struct export_tally tally;
    struct share *share; /* if several processes write one text; otherwise NULL */
    FILE *text;          /* the file to which a text format writes */
    int rc;              /* of the first failure; the walk ends with it */
    struct rt_error e;
};

/* A format: its properties, and the functions that the walk calls. All functions except begin and
 * finish may be NULL. `r` is the recorded event, or NULL for an edge that was made up: at the edge
 * of the selection, or where the end is missing. Functions report failures by export_fail(). */
struct export_format {
    const char *option; /* "chrome" */
    bool folder;        /* OUT is a folder; otherwise a file */
    /* A text of lines, which several processes can write in turn; begin sets export.text. */
    bool shares_text;
    bool shares_files; /* With several processes, each writes the files of its own streams. */
    /* Spans of all kinds must nest; otherwise only those of one kind (marks: of one type). */
    bool one_stack;
    /* Returns whether the folder is an earlier export of this format, so that -force may remove
     * it. */
    bool (*is_ours)(const char *folder);
    /* Begins the output at `path`, which gets its final name later. Returns the format's state, or
     * NULL after a failure. */
    void *(*begin)(struct export *x, const char *path);
    void (*enter)(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r);
    void (*leave)(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r);
    /* Takes an event that is neither a beginning nor an end. */
    void (*point)(void *state, uint32_t stream, int64_t ns, const struct stream_record *r);
    /* Takes every event in the selection, including those of spans, before any other function gets
     * the same event. */
    void (*event)(void *state, uint32_t stream, int64_t ns, const struct stream_record *r);
    /* Takes one end of a message: a send within the call that begins it, a receive within the call
     * in which it completes. Each message is reported at both ends; the receive may come first if
     * clocks of nodes are off. */
    void (*message)(void *state, uint32_t stream, int64_t ns, const struct export_message *m,
                    bool received);
    /* The thread has no more events and no open span. Not called if the selection ends earlier. */
    void (*ended)(void *state, uint32_t stream);
    /* Writes the rest and frees the state. Called after failures too. */
    void (*finish)(void *state);
};

extern const struct export_format export_csv, export_chrome, export_ovni, export_otf2;

/* Returns what this build lacks for OTF2, with the remedy, or NULL if it lacks nothing. */
const char *export_otf2_lack(void);

/* export_open() reads the run; export_walk() reports it to a format. Failures are in x->rc (-errno)
 * and x->e; export_open() also returns x->rc. Call export_close() even after a failure. */
RT_MUST_CHECK int export_open(struct export *x, const struct rt_run *run,
                              const struct export_options *options);
void export_walk(struct export *x, const struct export_format *format, void *state);
void export_close(struct export *x);

/* Notes a failure; keeps the first one. rc: -errno. */
void export_fail(struct export *x, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

const char *export_name(const struct export *x, enum export_kind kind, uint32_t number);
/* Returns the title of a mark's type in that process, or "mark N", written to `room`, if it has
 * none. */
const char *export_mark_title(struct export *x, uint32_t stream, uint64_t type, char room[32]);
/* Returns NULL if the value has no label. */
const char *export_mark_label(struct export *x, uint32_t stream, uint64_t type, int64_t value);
/* Returns whether marks of the type are pushed. */
bool export_mark_is_stack(const struct export *x, uint32_t stream, uint64_t type);

/* Writes a counter's title: the counted event and the place of counting ("instructions in
 * windows"). Returns false if the event is no counter. */
bool export_counter_title(const struct export *x, uint32_t stream, const struct rt_event *ev,
                          char out[300]);

/* Writes "rank 3", with the process's number if it is a further process of the rank. */
void export_process_title(const struct export *x, uint32_t process, char out[160]);
/* Writes "thread 0", with the thread's name if it has one. */
void export_thread_title(const struct export *x, uint32_t stream, char out[160]);
const struct rt_rank_info *export_info(const struct export *x, uint32_t stream);

/* Create and close an output file; failures go to x. */
FILE *export_create(struct export *x, const char *path);
void export_close_file(struct export *x, FILE *f, const char *path);

#endif
