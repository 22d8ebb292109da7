/* SPDX-License-Identifier: BSD-3-Clause
 * An open image whose functions are analysed, and the selection of functions. */
#ifndef REGTRACE_ISA_MEMORY_ANALYSIS_SESSION_H
#define REGTRACE_ISA_MEMORY_ANALYSIS_SESSION_H

#include "isa/memory/skel.h"

#include <regex.h>

struct analysis_session {
    struct image *image;
    struct code *code;
    struct address_list claims;
    regex_t pattern;
    bool has_pattern;
    enum skel_plan plan;           /* plan of mid-function entries; the caller sets it */
    const struct directs *directs; /* used by mid-function entries, set by the caller; NULL: none */
    struct address_list sites;     /* alarms, sorted; the caller fills it in */
};

/* Opens and decodes an image. pattern: an extended regular expression for names of functions; NULL
 * selects all. Returns 0, or -errno with the text: -EINVAL if the pattern is invalid. Needs as much
 * stack as analyses do. */
RT_MUST_CHECK int session_open(struct analysis_session *o, const char *path, const char *pattern,
                               struct rt_error *e);
void session_close(struct analysis_session *o);
/* Returns whether the function at `start` is selected: by any of its names, or, without a symbol,
 * by `name`. */
bool session_wants(const struct analysis_session *o, const char *name, uint64_t start);
/* Returns the name of the function at `start`; without a symbol, its address as text in
 * `unnamed`. */
const char *session_name(const struct analysis_session *o, uint64_t start, char unnamed[32]);

/* Analyses code that begins at `start`, in mid-function, for a thread that has entered the function
 * before. `call` is the call that returns to `start`; 0: none. Fills in *out. If the function is
 * not selected or no code is there, out->reason says why, and out->reason_at is 0. `name` is room
 * for out->name. */
void session_late(const struct analysis_session *o, struct arena *arena, uint64_t call,
                  uint64_t start, char name[512], struct function *out);
/* Does the same for the code after the alarm at `site`. The function's copy leaves at `site` and
 * goes on in this code; so does a thread for which the alarm opens a window. */
void session_site(const struct analysis_session *o, struct arena *arena, uint64_t site,
                  char name[512], struct function *out);
/* Returns whether an alarm stands at the entry of the function at `start`. */
bool session_watches(const struct analysis_session *o, uint64_t start);

#endif
