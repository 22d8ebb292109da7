/* SPDX-License-Identifier: BSD-3-Clause
 * Files that commands make of runs: channels, merged profiles of values, memory accesses. Included by writer/writer.h, which others include. */
#ifndef REGTRACE_WRITER_RESULTS_H
#define REGTRACE_WRITER_RESULTS_H

#include "base/format/accesses.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- channels ------------------------------------------------------------------------------------------- */

/* A row of /channels/thread/NAME and /channels/cpu/NAME: from that time on (ns since the run's origin) the row shows that state. */
struct rt_channel_change {
    int64_t time;
    uint32_t row; /* of /rows/thread, /rows/cpu */
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

/* A row of /messages: a send and the receive that got it. Times as of changes. */
struct rt_channels_message {
    int64_t send_ns, sent_ns, receive_ns, received_ns; /* posted, complete */
    uint64_t bytes;
    uint32_t send_row, receive_row; /* of /rows/thread */
    int32_t sender, receiver, tag;  /* ranks of the world */
    uint8_t likely;                 /* 1: not sure */
};

struct rt_channel_about {
    const char *title, *kind; /* kind: "single", "stack", "punctual" */
    uint32_t paraver;         /* type of Paraver's events, 0: states */
    bool used[2];             /* of threads, of processors: the others are left out */
};

/* Texts and rows remain the caller's. */
struct rt_channels_about {
    int64_t origin_ns, realtime_ns,
        end_ns; /* CLOCK_MONOTONIC, since 1970 (0 unknown); the last event's time */
    const char *policy, *cpu;
    uint64_t events, wrong;
    uint64_t unmatched_sends, unmatched_receives;
    const struct rt_channel_about *channels;
    const struct rt_channels_thread *threads;
    size_t thread_count;
    const struct rt_channels_processor *processors;
    size_t processor_count;
    const struct rt_channels_label *labels;
    size_t label_count;
};

struct rt_channels; /* a channels.h5 that is being made */

/* Make it; what is there is overwritten. names: of the channels, which have numbers from 0;
 * valid until the end. Memory: up to two chunks of 8192 changes a channel. 0, or -errno with the text. */
RT_MUST_CHECK int rt_channels_open(struct rt_channels **channels, const char *path,
                                   const char *const *names, uint32_t count, struct rt_error *e);
/* Times go back by 1 ns at most; they are put in order. */
RT_MUST_CHECK int rt_channels_put(struct rt_channels *c, bool processor, uint32_t channel,
                                  const struct rt_channel_change *change, struct rt_error *e);
RT_MUST_CHECK int rt_channels_put_message(struct rt_channels *c,
                                          const struct rt_channels_message *m, struct rt_error *e);
/* Complete it, or make it not have been; either way c is gone. */
RT_MUST_CHECK int rt_channels_finish(struct rt_channels *c, const struct rt_channels_about *about,
                                     struct rt_error *e);
void rt_channels_discard(struct rt_channels *c);

/* --- profiles of values ------------------------------------------------------------------------------------ */

/* Texts are NULL or "" where nothing is known; they and the rows remain the caller's. */
struct rt_profile_image {
    const char *path, *build_id; /* build_id: hexadecimal digits */
};
struct rt_profile_instruction {
    uint32_t image; /* row of images + 1; 0: in none, `offset` is the address */
    uint64_t offset, samples, periods, values;
    double threshold;                   /* above 1: its list is a sample, of one value in so many */
    const char *code, *function, *line; /* code: hexadecimal digits; line: FILE:LINE */
};
/* A value of an instruction's list. Of a context that is a caller, context is its offset in the image. */
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
    const struct rt_profile_hot *hot; /* by instruction */
    size_t hot_count;
};

/* What is there is overwritten; on failure it is gone. 0, or -errno with the text. */
RT_MUST_CHECK int rt_profile_write(const char *path, const struct rt_profile *p,
                                   struct rt_error *e);

/* --- memory accesses ------------------------------------------------------------------------------------------ */

struct rt_accesses;      /* an accesses.h5 that is being made */
struct rt_accesses_rows; /* the accesses of one recording in it */

/* Rows of its tables, which are written as the file is finished; texts are NULL or "" where nothing is known, and remain the caller's. Addresses are
 * those of images' files: those of a process lie `base` further. */
struct rt_accesses_stretch {
    uint64_t first, rows; /* of /accesses; `first` is found when the file is finished */
    uint64_t functions;   /* entered in it */
    int32_t rank;         /* -1: none */
    uint32_t pid, program, thread;
    int32_t window;
    uint32_t end;       /* enum memory_end, or ACCESSES_OPEN */
    uint32_t signal;    /* whose handler, 0: none */
    uint32_t recording; /* by the order in which they were begun */
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
    int32_t parent; /* row of loops, -1: none */
    uint32_t depth;
    uint64_t head;
    const char *line;    /* FILE:LINE */
    const char *counter; /* its name in expressions */
};
struct rt_accesses_place { /* an instruction */
    uint32_t image, function;
    int32_t loop; /* -1: in none */
    uint64_t address;
    const char *line;
    const char *expression; /* of each of its accesses: "R 8 rsi.1 + 8*I; W 8 rdi.1 + 8*I" */
};
struct rt_accesses_about {
    const char *program;
    struct rt_accesses_stretch *stretches;
    size_t stretch_count;
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

/* Make it; what is there is overwritten. deflate: 0 to 9. Several threads may write, each its own rows. 0, or -errno with the text. */
RT_MUST_CHECK int rt_accesses_open(struct rt_accesses **accesses, const char *path,
                                   unsigned deflate, struct rt_error *e);
/* name: of the dataset, in which the recording's rows are. Recordings have the order in which they are begun. */
RT_MUST_CHECK int rt_accesses_begin(struct rt_accesses *a, const char *name,
                                    struct rt_accesses_rows **rows, struct rt_error *e);
/* Memory: three chunks of 768 KiB while rows come. */
RT_MUST_CHECK int rt_accesses_put(struct rt_accesses_rows *rows, const struct accesses_record *list,
                                  size_t count, struct rt_error *e);
/* No rows come for a while: gives back memory. */
void rt_accesses_rest(struct rt_accesses_rows *rows);
/* Complete it; a is gone, whatever comes of it. Of a failure the file is as it then is. */
RT_MUST_CHECK int rt_accesses_finish(struct rt_accesses *a, const struct rt_accesses_about *about,
                                     struct rt_error *e);
void rt_accesses_discard(struct rt_accesses *a);

#endif
