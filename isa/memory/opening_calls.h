/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the calls during which a window may open: their functions are to be recorded from after the
 * call on.
 *
 * The functions that open windows are named (MPI_Pcontrol, functions of enter_func alarms). A
 * function that calls one of them gets a mid-function entry after that call. So do its callers in
 * turn, since the thread returns to them while the window is open. */
#ifndef REGTRACE_ISA_MEMORY_OPENING_CALLS_H
#define REGTRACE_ISA_MEMORY_OPENING_CALLS_H

#include "isa/memory/skel.h"

struct opening_call {
    uint64_t call, next; /* the call, and the address it returns to */
};

struct name_list { /* names of functions that open windows */
    const char *names[512];
    size_t count;
};

struct opening_calls {
    struct opening_call *list; /* sorted by `next` */
    size_t count;
    bool cut; /* there were more: callers of callers are missing */
};

/* Searches all code of an image; compares names as image_name_matches() does. The caller frees
 * out->list. Returns 0, or -ENOMEM. */
RT_MUST_CHECK int opening_calls_find(const struct code *c, const struct name_list *openers,
                                     struct opening_calls *out);

#endif
