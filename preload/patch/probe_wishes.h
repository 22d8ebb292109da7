/* SPDX-License-Identifier: BSD-3-Clause
 * What regtrace-sites is asked, for whose sake, and what came of it. Of preload/probe*.c alone. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBE_WISHES_H
#define REGTRACE_PRELOAD_PATCH_PROBE_WISHES_H

#include "preload/patch/probe_sites.h"

#define PROBE_REQUEST_ROOM 1100u

/* One request, and who makes it: alarms, for their places and for where functions return to, or a pattern of REGTRACE_FUNCTIONS. */
struct probe_wish {
    const uint16_t
        *rows; /* alarms; or PROBE_ENTERED, PROBE_RETURNED or PROBE_CLONED, of a pattern */
    unsigned row_count;
    const struct probe_pattern *pattern; /* NULL: of alarms */
    const struct probe_wish
        *of;        /* of exit_func alarms: rows is PROBE_EXITED, where their functions return to */
    bool found;     /* somewhere */
    bool one_image; /* the first that has it is the one meant */
    bool scans;     /* asks for all matches in an image; finding none is no error */
    bool unkept;    /* names an address of this process: another process cannot reuse the answer */
    char masked[128];     /* the image that has it, but runs with SIGTRAP blocked */
    uint64_t refused;     /* places that cannot be patched */
    char refused_in[128]; /* the first image with one */
    uint64_t unsure;      /* places that may be data */
    char nearest[512];    /* what the program had to say */
};

/* Of alarms by their first, then of patterns. */
extern struct probe_wish *probe_wishes RT_HIDDEN;
extern unsigned probe_wish_count RT_HIDDEN;

/* Alarms that can ever fire and name places, or functions. */
unsigned probe_count_alarms(bool places);
/* Once. 0 or -ENOMEM with the text. */
RT_MUST_CHECK int probe_make_wishes(struct rt_error *e);
/* Returns the name that an image must have if it has a place for the wish; NULL if no name decides
 * that. */
const char *probe_wish_name(const struct probe_wish *w, const struct probe_image *image);
/* The request for this image; false: it has none there. */
bool probe_write_request(const struct probe_wish *w, const struct probe_image *image,
                         char text[PROBE_REQUEST_ROOM]);
/* It is a function that an image of its kind may have told of without: by an alarm. */
bool probe_wish_is_function(const struct probe_wish *w);
/* As the user gave it. */
const char *probe_wish_text(const struct probe_wish *w);

#endif
