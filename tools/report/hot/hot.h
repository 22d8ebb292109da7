/* SPDX-License-Identifier: BSD-3-Clause
 * Samples of a run, by function and source line: `regtrace report --hot`. */
#ifndef REGTRACE_TOOLS_REPORT_HOT_HOT_H
#define REGTRACE_TOOLS_REPORT_HOT_HOT_H

#include "tools/addresses.h"
#include "tools/json.h"
#include "tools/streams/streams.h"

/* Data about the item of hot.at with the same index. */
struct hot_place {
    uint64_t weight;         /* periods sampled at this very place */
    uint32_t function, line; /* indices into hot.functions, hot.lines */
    bool frameless;          /* the second frame of a sample here is its caller */
    bool is_own;             /* in libregtrace: its function is "[regtrace]" */
    bool is_cut;             /* stands for callers that are not known: "[cut]" */
};

/* A function, or a line of source. */
struct hot_row {
    char *name;     /* of the function, or FILE:LINE; NULL: unknown */
    uint32_t image; /* index into hot.at.images */
    uint64_t self;  /* periods in it */
    /* Periods in it and in what it calls; functions only, each sample once. */
    uint64_t within;
    uint64_t last; /* the sample last added to `within` */
};

struct hot_sample {
    /* Index into hot.frames: the place itself, then what may be its caller, then callers. */
    uint64_t first;
    uint32_t count, weight;
    bool is_sure; /* it has a call path: the second frame is its caller */
};

struct hot {
    struct addresses at;
    struct hot_place *places;
    size_t place_room; /* at.count of them are in use */
    uint32_t *frames;  /* indices into places */
    uint64_t frame_count;
    size_t frame_room;
    struct hot_sample *samples;
    uint64_t sample_count;
    size_t sample_room;
    struct hot_row *functions, *lines;
    size_t function_count, line_count;
    uint64_t weight, weight_in_windows; /* periods in all samples */
    /* REGTRACE_SAMPLE of the run; "": it did not sample */
    char asked[96];
    bool has_callers; /* some sample has callers */
};

/* Adds the samples of an opened rank in these windows. Returns 0, -ENOMEM, or -errno of the file
 * with the text. */
RT_MUST_CHECK int hot_collect(struct hot *h, struct rt_rank *rank,
                              const struct window_span *windows, struct rt_error *e);

/* Adds the samples of these ranks of a run, and finds their functions and lines. Passes files that
 * cannot be read to `skipped`. Returns 0 or the last error of a file; -ENOMEM: only hot_free() may
 * follow. */
RT_MUST_CHECK int hot_collect_run(struct hot *h, const struct rt_run *run,
                                  const struct rank_list *ranks, const struct window_span *windows,
                                  const struct skipped_files *skipped);

/* Finds the function and line of each place, in the images as they are now on this machine. Returns
 * 0 or -ENOMEM. */
RT_MUST_CHECK int hot_resolve(struct hot *h);

/* Returns frame `f` of the sample (0: the innermost) if it is a function that stacks show; else
 * NULL. The second frame may be none (struct hot_sample). Wrappers of libregtrace, which every MPI
 * call and thread has, are left out; a sample in libregtrace itself is in "[regtrace]". */
static inline const struct hot_place *hot_frame(const struct hot *h, const struct hot_sample *s,
                                                uint32_t f)
{
    const struct hot_place *p = &h->places[h->frames[s->first + f]];
    bool is_frame = f != 1 || s->is_sure || h->places[h->frames[s->first]].frameless;
    return is_frame && (f == 0 || !p->is_own) ? p : NULL;
}

/* Returns why there are no samples, with the remedy. */
const char *hot_why_none(const struct hot *h);
/* Prints a line "outer;inner PERIODS" for each stack of functions. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int hot_print_folded(FILE *out, const struct hot *h);
/* Prints the longest first; top 0: all. */
void hot_print_text(FILE *out, const struct hot *h, size_t top);
void hot_print_json(FILE *out, const struct hot *h);
/* Writes the members of that object. */
void hot_json_members(struct json *j, const struct hot *h);
/* Writes a member "tree": the functions that were on the stack together, the outermost first.
 * Returns 0 or -ENOMEM. */
RT_MUST_CHECK int hot_json_tree(struct json *j, const struct hot *h);
void hot_free(struct hot *h);

#endif
