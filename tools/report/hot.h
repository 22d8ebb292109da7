/* SPDX-License-Identifier: BSD-3-Clause
 * Samples of a run, by function and source line: `regtrace report --hot`. */
#ifndef REGTRACE_TOOLS_REPORT_HOT_H
#define REGTRACE_TOOLS_REPORT_HOT_H

#include "tools/addresses.h"

/* What is known of an item of hot.at, of the same index. */
struct hot_place {
    uint64_t weight;         /* periods sampled just here */
    uint32_t function, line; /* of hot.functions and hot.lines */
    bool frameless;          /* a sample's first caller is its caller indeed */
};

/* A function, or a line of source. */
struct hot_row {
    char *name;      /* of the function, or FILE:LINE; NULL unknown */
    uint32_t image;  /* of hot.at.images */
    uint64_t self;   /* periods in it */
    uint64_t within; /* periods in it and in what it calls; functions only, once a sample */
    uint64_t last;   /* sample that was counted last into `within` */
};

struct hot_sample {
    uint64_t first; /* of hot.frames: the place itself, then what may be its caller, then callers */
    uint32_t count, weight;
};

struct hot {
    struct addresses at;
    struct hot_place *places;
    size_t place_room; /* at.count of them are in use */
    uint32_t *frames;  /* places */
    uint64_t frame_count, frame_room;
    struct hot_sample *samples;
    uint64_t sample_count, sample_room;
    struct hot_row *functions, *lines;
    size_t function_count, line_count;
    uint64_t weight, weight_in_windows; /* periods in all samples */
    char asked[96];                     /* REGTRACE_SAMPLE of the run, "" where it did not sample */
    bool has_callers;                   /* some sample has */
};

/* Add the samples of an opened rank in these windows. 0, -ENOMEM, or -errno of the file with the text. */
RT_MUST_CHECK int hot_collect(struct hot *h, struct rt_rank *rank,
                              const struct window_span *windows, struct rt_error *e);

/* Give each place its function and line, from the images as they are now on this machine. 0 or -ENOMEM. */
RT_MUST_CHECK int hot_resolve(struct hot *h);

/* The longest first; top 0: all. */
void hot_print_text(FILE *out, const struct hot *h, size_t top);
void hot_print_json(FILE *out, const struct hot *h);
void hot_free(struct hot *h);

#endif
