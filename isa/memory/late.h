/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that a window may open in: from behind which of their calls on they are to be recorded.
 *
 * Whoever opens windows is named (MPI_Pcontrol, functions of enter_func alarms). What calls it gets a clone that begins behind that call, and so
 * does what calls those, since they return to it while the window is open. */
#ifndef REGTRACE_ISA_MEMORY_LATE_H
#define REGTRACE_ISA_MEMORY_LATE_H

#include "isa/memory/skel.h"

struct late {
    uint64_t call, next; /* that instruction, and where it returns to */
};

struct late_names { /* of whoever opens windows */
    const char *names[512];
    size_t count;
};

struct late_list {
    struct late *list; /* by `next` */
    size_t count;
    bool cut; /* there were more: callers of callers are missing */
};

/* In all code of an image. Names are compared as image_name_match() does. 0, or -ENOMEM. The list is the caller's to free. */
RT_MUST_CHECK int late_find(const struct code *c, const struct late_names *openers,
                            struct late_list *out);

#endif
