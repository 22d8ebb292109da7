/* SPDX-License-Identifier: BSD-3-Clause
 * All functions of an image that are meant: analysed, and written as what is asked for. */
#ifndef REGTRACE_ISA_MEMORY_JOB_H
#define REGTRACE_ISA_MEMORY_JOB_H

#include "isa/memory/copy/clones.h"
#include "isa/memory/direct.h"
#include "isa/memory/late.h"
#include "isa/memory/opened.h"

/* A function. */
struct job_part {
    uint64_t start, end;
    const char *reason; /* why it is not analysed, or has no clone; NULL */
    uint64_t reason_at;
    bool watched;  /* an alarm stands where it is entered */
    bool numbered; /* it has been analysed */
    bool later;    /* it is made behind the others, and has a number whatever comes of it */
    uint32_t number;
    bool direct;             /* it was taken to be called directly ... */
    uint64_t known;          /* ... and records so many values more if it is not */
    uint16_t passed;         /* registers that callers were taken to know */
    size_t text, text_bytes; /* in job.made */
    struct clone_part clone;
    struct skel_counts counts;
};

struct job {
    struct opened o;
    struct arena arena;
    const char *pattern;
    enum skel_plan plan;
    bool dot, summary, source, kept, serve;
    char *options; /* that clones and skeletons depend on, each with a 0 behind it */
    size_t option_bytes;
    unsigned turns; /* all have been made so often, where something had changed */
    bool tokens;    /* no function is called directly */
    const char *path, *clones_path, *skeleton_path;
    struct late_names openers,
        awaited;            /* functions at whose entry somebody waits are entered there */
    struct addresses sites; /* in mid-function or at its begin */
    FILE *skeleton;         /* NULL: none is wanted */
    struct clones clones;
    struct skel_counts counts;
    uint64_t wanted;
    int code;
    struct why {
        const char *reason;
        uint64_t count;
    } why[16];

    struct directs directs;
    struct job_part *parts;
    FILE *made; /* texts, in the order in which they were made */
    char *text;
    size_t text_bytes;
};

/* Writes to standard output, and to `skeleton`. 0, or -errno. */
RT_MUST_CHECK int job_analyse(struct job *j);
void job_free(struct job *j);

#endif
