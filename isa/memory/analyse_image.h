/* SPDX-License-Identifier: BSD-3-Clause
 * Analyses all selected functions of an image and writes the requested output. */
#ifndef REGTRACE_ISA_MEMORY_ANALYSE_IMAGE_H
#define REGTRACE_ISA_MEMORY_ANALYSE_IMAGE_H

#include "isa/memory/copy/copies.h"
#include "isa/memory/direct_calls.h"
#include "isa/memory/opening_calls.h"
#include "isa/memory/analysis_session.h"

/* A selected function. */
struct selected_function {
    uint64_t start, end;
    const char *reason; /* why it is not analysed or has no copy; NULL: it has one */
    uint64_t reason_at;
    bool watched;  /* an alarm stands at its entry */
    bool numbered; /* it has been analysed */
    bool later;    /* made after the others; has a number even if it cannot be analysed */
    uint32_t number;
    bool direct;             /* it was assumed to be called directly ... */
    uint64_t known;          /* ... and records this many values more if it is not */
    uint16_t passed;         /* registers that its callers were assumed to know */
    size_t text, text_bytes; /* in `made` of struct image_analysis */
    struct copy_part copy;
    struct skel_counts counts;
};

struct image_analysis {
    struct analysis_session o;
    struct arena arena;
    const char *pattern;
    enum skel_plan plan;
    bool dot, summary, source, cached, serve;
    char *options; /* options that copies and skeletons depend on, each ended by a NUL */
    size_t option_bytes;
    unsigned turns; /* rounds of make_all() so far */
    bool tokens;    /* no function is called directly */
    const char *path, *copies_path, *skeleton_path;
    /* functions that open windows; functions whose entry an alarm awaits, so that entering them is
     * recorded */
    struct name_list openers, awaited;
    struct address_list sites; /* alarms in mid-function, or at its start */
    FILE *skeleton;            /* file for skeletons; NULL: not requested */
    struct copies copies;
    struct skel_counts counts;
    uint64_t wanted;
    int code;
    struct why {
        const char *reason;
        uint64_t count;
    } why[16];

    struct directs directs;
    struct selected_function *parts;
    FILE *made; /* texts of functions, in the order in which they were made */
    char *text;
    size_t text_bytes;
};

/* Writes to standard output, and to `skeleton`. Returns 0, or -errno. */
RT_MUST_CHECK int analyse_image(struct image_analysis *a);
void image_analysis_free(struct image_analysis *a);

#endif
