/* SPDX-License-Identifier: BSD-3-Clause
 * An image whose functions are analysed, and which of them are meant. */
#ifndef REGTRACE_ISA_MEMORY_OPENED_H
#define REGTRACE_ISA_MEMORY_OPENED_H

#include "isa/memory/skel.h"

#include <regex.h>

struct opened {
    struct image *image;
    struct code *code;
    struct addresses claims;
    regex_t pattern;
    bool has_pattern;
    enum skel_plan plan;           /* of late ones; whoever opens it sets it */
    const struct directs *directs; /* as well; NULL: none */
    struct addresses sites;        /* where alarms stand, sorted; whoever opens it fills them in */
};

/* pattern: an extended regular expression; NULL: all. 0, or -errno with the text: -EINVAL where that is none. Needs the stack that analyses do. */
RT_MUST_CHECK int opened_open(struct opened *o, const char *path, const char *pattern,
                              struct rt_error *e);
void opened_close(struct opened *o);
/* By any of its names; what has none is called by its address. */
bool opened_wants(const struct opened *o, const char *name, uint64_t start);
/* Of the function that begins there. */
const char *opened_name(const struct opened *o, uint64_t start, char unnamed[32]);

/* One that begins at `start`, in mid-function, for what has been entered before; call: behind that call, 0: behind none. Analysed, where
 * its function is meant and there is something: else `reason` says why not, without `reason_at`. `name` has room for its name. */
void opened_late(const struct opened *o, struct arena *arena, uint64_t call, uint64_t start,
                 char name[512], struct function *out);
/* One for that site, behind its alarm: for the function's clone, which leaves there, and for what a window that it opens finds there. Likewise. */
void opened_site(const struct opened *o, struct arena *arena, uint64_t site, char name[512],
                 struct function *out);
/* Does an alarm stand where that function is entered? */
bool opened_watches(const struct opened *o, uint64_t start);

#endif
