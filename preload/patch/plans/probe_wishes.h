/* SPDX-License-Identifier: BSD-3-Clause
 * Requests to regtrace-isa: which alarms or patterns make them, and what the answers are. Used by
 * preload/patch/ only. */
#ifndef REGTRACE_PRELOAD_PATCH_PLANS_PROBE_WISHES_H
#define REGTRACE_PRELOAD_PATCH_PLANS_PROBE_WISHES_H

#include "preload/patch/plans/probe_plans.h"
#include "preload/patch/probe_sites.h"

#define PROBE_REQUEST_ROOM 1100u

/* A request, and what makes it: alarms, for their sites and for the return sites of their
 * functions, or a pattern of REGTRACE_FUNCTIONS. */
struct probe_wish {
    /* what the sites become rows of: indexes of alarms, or one of PROBE_ENTERED, PROBE_RETURNED and
     * PROBE_COPIED for a pattern, or PROBE_EXITED if `of` is set */
    const uint16_t *rows;
    unsigned row_count;
    const struct probe_pattern *pattern; /* NULL: alarms make the request */
    /* the wish whose exit_func alarms need return sites: this wish asks for them, and rows is
     * PROBE_EXITED; otherwise NULL */
    const struct probe_wish *of;
    bool found;     /* in some image */
    bool one_image; /* only the first image that has it counts */
    bool scans;     /* asks for all matches in an image; finding none is no error */
    bool unkept;    /* names an address of this process: another process cannot reuse the answer */
    char masked[128]; /* name of an image that has it, but runs with SIGTRAP blocked */
    struct probe_refused refused;
    char refused_in[128];  /* the image of the first refused site */
    uint64_t refused_said; /* so many are in a warning */
    uint64_t unsure;       /* matches that may be data */
    char nearest[512];     /* remark of regtrace-isa about the program */
};

/* Wishes of alarms, sorted by their first alarm, then all others. */
extern struct probe_wish *probe_wishes RT_HIDDEN;
extern unsigned probe_wish_count RT_HIDDEN;

/* Returns the number of alarms that can ever fire and that name places (otherwise: functions). */
unsigned probe_count_alarms(bool places);
/* Makes all wishes. Called once. Returns 0, or -ENOMEM with the text. */
RT_MUST_CHECK int probe_make_wishes(struct rt_error *e);
/* Returns the name that an image must have if it has a place for the wish; NULL if no name decides
 * that. */
const char *probe_wish_name(const struct probe_wish *w, const struct probe_image *image);
/* Writes the request for this image. Returns false if the wish asks nothing about it. */
bool probe_write_request(const struct probe_wish *w, const struct probe_image *image,
                         char text[PROBE_REQUEST_ROOM]);
/* Do alarms of this wish name a function? If its image was compiled with -finstrument-functions, it
 * reports the function without probes. */
bool probe_wish_is_function(const struct probe_wish *w);
/* Returns the function, or the symbol of an address, that alarms of this wish name; NULL if they
 * name none. */
const char *probe_wish_symbol(const struct probe_wish *w);
/* Returns the wish as the user wrote it; valid until the next call. */
const char *probe_wish_text(const struct probe_wish *w);

/* Stores what regtrace-isa remarks about a wish in an image. In a remark, "address:@+0x..." is an
 * alarm in that image: the name that it has here replaces the @. */
void probe_missing_note(struct probe_wish *w, const struct probe_image *image, const char *remark);
/* Asks the images with debug information about functions that were not found: they may have been
 * inlined there. Reading that information takes time, so nobody asks earlier. Called before
 * main. */
void probe_missing_search(const struct probe_image *images, unsigned n, bool instrumented);
/* Warns of wishes that were not found, and of places that are left alone. */
void probe_missing_say(bool instrumented);
/* Warns of places in images that were loaded later and that are left alone. */
void probe_refused_say(void);

#endif
