/* SPDX-License-Identifier: BSD-3-Clause
 * Files that commands make from runs: channels, merged value profiles, memory accesses. Other
 * folders include it through writer/writer.h. */
#ifndef REGTRACE_WRITER_RESULTS_H
#define REGTRACE_WRITER_RESULTS_H

#include "base/format/accesses.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- channels --------------------------------------------------------------------------------- */

/* A row of /channels/thread/NAME or /channels/cpu/NAME: from `time` on (ns since the run's origin),
 * row `row` of the timeline shows `state`. */
struct rt_channel_change {
    int64_t time;
    uint32_t row; /* in /rows/thread or /rows/cpu */
    int64_t state;
};

struct rt_channels_thread {
    uint32_t row;
    int32_t rank, thread;
    uint32_t pid, tid; /* tid 0: unknown */
    const char *host, *name;
};

struct rt_channels_processor {
    uint32_t row;
    int32_t number; /* -1: for threads that may run on several */
    const char *host;
};

struct rt_channels_label {
    const char *channel;
    int64_t value;
    const char *text;
};

/* A row of /messages: a send and the receive that matched it. Times are as in rt_channel_change. */
struct rt_channels_message {
    int64_t send_ns, sent_ns, receive_ns, received_ns; /* call begins, ends; posted, complete */
    uint64_t bytes;
    uint32_t send_row, receive_row; /* in /rows/thread */
    int32_t sender, receiver, tag;  /* ranks of the world */
    int32_t send_window, receive_window;
};

/* A row of /unmatched: a send or a receive without a partner. */
struct rt_channels_unmatched {
    int64_t time_ns; /* its call begins */
    uint64_t bytes;  /* 0: not known */
    uint32_t row;    /* in /rows/thread */
    int32_t window;
    int32_t sender, receiver, tag; /* ranks of the world; -1: not known */
    uint8_t is_send, reason;       /* reason: place in rt_channels_about.reasons */
};

/* A row of /waits: an MPI call of a rank that waits for another rank. */
struct rt_channels_wait {
    int64_t begin_ns, wait_ns; /* the call begins; how long it waits */
    uint32_t row;              /* in /rows/thread */
    int32_t window;
    int32_t rank, for_rank; /* ranks of the world */
    uint32_t code, path;    /* the call: code of its enter; its number in /paths, 0: not known */
    uint32_t for_row;       /* the thread of the call that came late */
    uint32_t for_code;      /* its code; 0: not known */
    uint32_t for_path;      /* its path in its own file */
    uint8_t kind;           /* place in rt_channels_about.kinds */
};

struct rt_channel_about {
    const char *title, *kind; /* kind: "single", "stack", "punctual" */
    uint32_t paraver;         /* type of the Paraver events; 0: Paraver's states */
    bool used[2];             /* by threads, by processors; unused ones are left out */
};

/* Contents of a channels.h5 besides changes and messages. The caller owns texts and rows. */
struct rt_channels_about {
    /* Origin on CLOCK_MONOTONIC, origin since 1970 (0: unknown), time of the last event. */
    int64_t origin_ns, realtime_ns, end_ns;
    const char *policy, *cpu;
    uint64_t events, wrong;
    uint64_t unmatched_sends, unmatched_receives, unmatched_collectives;
    const char *messages;        /* which messages are in the file: "all", "none" */
    const char *reasons, *kinds; /* texts, separated by "; " */
    const struct rt_channel_about *channels;
    const struct rt_channels_thread *threads;
    size_t thread_count;
    const struct rt_channels_processor *processors;
    size_t processor_count;
    const struct rt_channels_label *labels;
    size_t label_count;
};

struct rt_channels; /* a channels.h5 under construction */

/* Creates the file, or overwrites it. `names` are the names of the channels, whose numbers count
 * from 0; they must stay valid until the file is finished or discarded. Uses memory for up to two
 * chunks of 8192 changes per channel. Returns 0, or -errno with the text in *e. */
RT_MUST_CHECK int rt_channels_open(struct rt_channels **channels, const char *path,
                                   const char *const *names, uint32_t count, struct rt_error *e);
/* Appends a change of a channel of threads or processors. Its time may be up to 1 ns before that of
 * the previous change; the file has the changes in the order of time. */
RT_MUST_CHECK int rt_channels_put(struct rt_channels *c, bool processor, uint32_t channel,
                                  const struct rt_channel_change *change, struct rt_error *e);
RT_MUST_CHECK int rt_channels_put_message(struct rt_channels *c,
                                          const struct rt_channels_message *m, struct rt_error *e);
RT_MUST_CHECK int rt_channels_put_unmatched(struct rt_channels *c,
                                            const struct rt_channels_unmatched *u,
                                            struct rt_error *e);
RT_MUST_CHECK int rt_channels_put_wait(struct rt_channels *c, const struct rt_channels_wait *w,
                                       struct rt_error *e);
/* rt_channels_finish() completes the file; if that fails, it removes the file.
 * rt_channels_discard() removes the file. Both free `c`. */
RT_MUST_CHECK int rt_channels_finish(struct rt_channels *c, const struct rt_channels_about *about,
                                     struct rt_error *e);
void rt_channels_discard(struct rt_channels *c);

/* --- profiles of values ----------------------------------------------------------------------- */

/* Texts are NULL or "" if unknown. The caller owns texts and rows. */
struct rt_profile_image {
    const char *path, *build_id; /* build_id: hexadecimal digits */
};
struct rt_profile_instruction {
    uint32_t image; /* row of images + 1; 0: no image, `offset` is the address */
    uint64_t offset, samples, periods, values;
    double threshold;                   /* above 1: its list samples one value in `threshold` */
    const char *code, *function, *line; /* code: hexadecimal digits; line: FILE:LINE */
};
/* A value of an instruction's list. A context that is a caller is an offset in its image. */
struct rt_profile_hot {
    uint32_t instruction; /* row of instructions */
    uint64_t value;
    double times;
    uint32_t image0, image1; /* row of images + 1; 0: the context is a number */
    uint64_t context0, context1;
};
struct rt_profile {
    const char *plugin;
    uint64_t processes, samples, captured, unknown, unlearned, not_run, busy, skipped, damaged,
        unprocessed, strange;
    const struct rt_profile_image *images;
    size_t image_count;
    const struct rt_profile_instruction *instructions;
    size_t instruction_count;
    const struct rt_profile_hot *hot; /* in the order of the instructions */
    size_t hot_count;
};

/* Writes a profile to `path`. Overwrites an existing file, and removes the file if writing fails.
 * Returns 0, or -errno with the text in *e. */
RT_MUST_CHECK int rt_profile_write(const char *path, const struct rt_profile *p,
                                   struct rt_error *e);

/* --- memory accesses -------------------------------------------------------------------------- */

struct rt_accesses;      /* an accesses.h5 under construction */
struct rt_accesses_rows; /* the accesses of one recording in it */

/* Rows of its tables, which rt_accesses_finish() writes. Texts are NULL or "" if unknown; the
 * caller owns them. Addresses are those of an image's file; in a process they are higher by
 * `base`. */
struct rt_accesses_segment {
    uint64_t first, rows; /* of /accesses; rt_accesses_finish() sets `first` */
    uint64_t functions;   /* functions entered in the segment */
    int32_t rank;         /* -1: none */
    uint32_t pid, program, thread;
    int32_t window;
    uint32_t end;       /* enum memory_end, ACCESSES_MISSING or ACCESSES_OPEN */
    uint32_t signal;    /* signal whose handler this was; 0: none */
    uint32_t recording; /* its number, in the order of rt_accesses_begin() */
};
struct rt_accesses_image {
    const char *path, *build_id;
};
struct rt_accesses_base {
    int32_t rank;
    uint32_t pid, program, image; /* row of images */
    uint64_t base;
};
struct rt_accesses_function {
    uint32_t image;
    uint64_t address;
    const char *name;
};
struct rt_accesses_loop {
    uint32_t function;
    int32_t parent; /* row of the enclosing loop, -1: none */
    uint32_t depth;
    uint64_t head;
    const char *line;    /* FILE:LINE */
    const char *counter; /* name of the iteration count in expressions */
};
struct rt_accesses_place { /* an instruction that accesses memory */
    uint32_t image, function;
    int32_t loop; /* row of the innermost enclosing loop, -1: none */
    uint64_t address;
    const char *line;
    const char *expression; /* of each of its accesses: "R 8 rsi.1 + 8*I; W 8 rdi.1 + 8*I" */
};
struct rt_accesses_about {
    const char *program;
    struct rt_accesses_segment *segments;
    size_t segment_count;
    const struct rt_accesses_image *images;
    size_t image_count;
    const struct rt_accesses_base *bases;
    size_t base_count;
    const struct rt_accesses_function *functions;
    size_t function_count;
    const struct rt_accesses_loop *loops;
    size_t loop_count;
    const struct rt_accesses_place *places;
    size_t place_count;
};

/* Creates the file, or overwrites it. `deflate` is 0 to 9. Several threads may append rows at the
 * same time, each to a different recording. Returns 0, or -errno with the text in *e. */
RT_MUST_CHECK int rt_accesses_open(struct rt_accesses **accesses, const char *path,
                                   unsigned deflate, struct rt_error *e);
/* Begins a recording: creates the dataset `name` for its rows. Recordings have the order of these
 * calls. */
RT_MUST_CHECK int rt_accesses_begin(struct rt_accesses *a, const char *name,
                                    struct rt_accesses_rows **rows, struct rt_error *e);
/* Appends rows. Uses memory for three chunks of 768 KiB until rt_accesses_rest(). */
RT_MUST_CHECK int rt_accesses_put(struct rt_accesses_rows *rows, const struct accesses_record *list,
                                  size_t count, struct rt_error *e);
/* Frees buffers; call it when no rows come for a while. */
void rt_accesses_rest(struct rt_accesses_rows *rows);
/* rt_accesses_finish() completes the file; rt_accesses_discard() does not. Both free `a`, and leave
 * an incomplete file as it is. rt_accesses_finish() frees `a` on failure too. */
RT_MUST_CHECK int rt_accesses_finish(struct rt_accesses *a, const struct rt_accesses_about *about,
                                     struct rt_error *e);
void rt_accesses_discard(struct rt_accesses *a);

#endif
