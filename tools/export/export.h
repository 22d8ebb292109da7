/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace export`: a run's events, told in the order of time to one format, with every span begun and ended.
 *
 * walk.c knows what is open in each thread and what of it is asked for (ranks, windows, a stretch of time); a format writes what it is
 * told. Times are ns from the run's origin (when the first thread of any rank began to be traced) and never go back within a thread. */
#ifndef REGTRACE_TOOLS_EXPORT_EXPORT_H
#define REGTRACE_TOOLS_EXPORT_EXPORT_H

#include "tools/channels/functions.h"
#include "tools/channels/names.h"
#include "tools/paraver/shares.h"
#include "tools/streams/streams.h"
#include "tools/export/messages.h"
#include "tools/tools.h"

#include <limits.h>

struct export_wishes {
    const char *path; /* of the run */
    const char *out;
    const struct export_format *format; /* NULL: not chosen yet */
    struct rank_list ranks;
    struct window_span windows;
    int64_t from_ns, to_ns; /* to_ns: INT64_MAX where not given */
    bool force;
    uint64_t wait;
};

/* What a thread may be in. */
enum export_kind {
    EXPORT_WINDOW,
    EXPORT_REGION,
    EXPORT_MARK, /* pushed; set ones are points */
    EXPORT_MPI,
    EXPORT_FUNCTION,
    EXPORT_SIGNAL,
    EXPORT_KINDS,
};

struct export_span {
    enum export_kind kind;
    uint32_t name; /* export_name() */
    uint32_t type; /* of a mark */
    int64_t
        value; /* window: its ordinal, mark: what was pushed, signal: its number, MPI: code of the enter; else 0 */
    uint32_t comm; /* MPI: of its enter, 0 unknown */
    int32_t peer;  /* MPI: likewise, INT32_MIN none */
    uint64_t bytes;
};

/* One file: a process of a rank. */
struct export_process {
    const struct rt_rank *rank;
    uint32_t first_stream, stream_count;
    bool known_marks[100]; /* types of which title and kind are known */
    bool stacks[100];
    uint32_t titles[100]; /* numbers in `titles` */
};

/* What could not be shown as it was. */
struct export_tally {
    uint64_t events; /* told to the format */
    uint64_t
        unfinished; /* spans without an end, ended at the thread's last event or where events were dropped */
    uint64_t unbegun;  /* ends without a beginning: left out */
    uint64_t crossing; /* times that a span was ended and begun again since one below it ended */
    uint64_t files_left_out;
};

/* The run that is exported. */
struct export
{
    const struct export_wishes *wishes;
    struct emu_streams *streams;
    const struct emu_stream *all;
    uint32_t count; /* of streams */
    struct export_process *processes;
    uint32_t process_count;
    uint32_t *process_of; /* by stream */
    struct emu_functions *functions;
    struct names names[EXPORT_KINDS]; /* but functions */
    struct names titles, mark_keys;
    uint32_t *mark_labels; /* by number in mark_keys: a number in titles */
    size_t mark_label_room;
    int64_t origin, last_ns;         /* last_ns: of what was told */
    struct export_messages messages; /* none, where the format does not take any */
    struct emu_comms *comms;         /* NULL likewise */
    struct export_tally tally;
    struct share *share; /* of several processes that write one text; else NULL */
    FILE *text;          /* where a format that is a text is written to */
    int rc;              /* of the first failure; the walk ends with it */
    struct rt_error e;
};

/* How a format is told. Any but begin and finish may be NULL. `r`: what was recorded, NULL where an edge was made (of a selection, or since
 * the end is missing). Failures: export_fail(). */
struct export_format {
    const char *option; /* "chrome" */
    bool folder;        /* OUT is a folder, else a file */
    bool
        shares_text; /* a text of lines, which several processes can make in turn: begin sets export.text */
    bool
        shares_files; /* of several processes each writes the files of the streams that are its own */
    bool
        one_stack; /* spans of all kinds nest within each other; else those of one kind (marks: of one type) do */
    /* Is this folder an earlier export of that format, so that -force may remove it? */
    bool (*is_ours)(const char *folder);
    /* path: where to write to, OUT under another name. Returns the format's state. */
    void *(*begin)(struct export *x, const char *path);
    void (*enter)(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct emu_record *r);
    void (*leave)(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct emu_record *r);
    /* Whatever is neither a beginning nor an end. */
    void (*point)(void *state, uint32_t stream, int64_t ns, const struct emu_record *r);
    /* Every event that is asked for, spans included, before anything else is told of it. */
    void (*event)(void *state, uint32_t stream, int64_t ns, const struct emu_record *r);
    /* One end of a message: its send, within the call that begins then; its receive, within the one in which it is complete. Each is told of
     * both ends, of which the receive may come first where clocks of nodes are off. */
    void (*message)(void *state, uint32_t stream, int64_t ns, const struct export_message *m,
                    bool received);
    /* The thread has no event any more, and no span is open in it. Not called where the selection ends before. */
    void (*ended)(void *state, uint32_t stream);
    /* All is told: the rest is written, the state freed. Called after failures too. */
    void (*finish)(void *state);
};

extern const struct export_format export_csv, export_chrome, export_ovni, export_otf2;

/* What is missing in this build, with the remedy; NULL: nothing. */
const char *export_otf2_lack(void);

/* Read the run and tell it: 0 or -errno, with the text in x->e. */
RT_MUST_CHECK int export_open(struct export *x, const struct rt_run *run,
                              const struct export_wishes *wishes);
void export_walk(struct export *x, const struct export_format *format, void *state);
void export_close(struct export *x);

/* The first failure is kept. rc: -errno */
void export_fail(struct export *x, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

const char *export_name(const struct export *x, enum export_kind kind, uint32_t number);
/* "title" of a mark's type in that process, "mark N" where it has none. */
const char *export_mark_title(struct export *x, uint32_t stream, uint64_t type, char room[32]);
/* NULL: the value has no label. */
const char *export_mark_label(struct export *x, uint32_t stream, uint64_t type, int64_t value);
/* Is the type one of pushes? */
bool export_mark_is_stack(const struct export *x, uint32_t stream, uint64_t type);

/* Counters: the event's name with what it was counted in ("instructions in windows"). False: the event is no counter. */
bool export_counter_title(const struct export *x, uint32_t stream, const struct rt_event *ev,
                          char out[300]);

/* "rank 3", with the process's number where it is a further one of the rank. */
void export_process_title(const struct export *x, uint32_t process, char out[160]);
/* "thread 0", with its name where it has one. */
void export_thread_title(const struct export *x, uint32_t stream, char out[160]);
const struct rt_rank_info *export_info(const struct export *x, uint32_t stream);

/* Output to a file: failures go to x. */
FILE *export_create(struct export *x, const char *path);
void export_close_file(struct export *x, FILE *f, const char *path);

#endif
