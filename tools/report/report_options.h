/* SPDX-License-Identifier: BSD-3-Clause
 * What `regtrace report` is asked for. */
#ifndef REGTRACE_TOOLS_REPORT_REPORT_OPTIONS_H
#define REGTRACE_TOOLS_REPORT_REPORT_OPTIONS_H

#include "tools/tools.h"

#define REPORT_FOLDERS 1000 /* at once */

struct report_options {
    const char *path[REPORT_FOLDERS];
    size_t paths;
    const char *whole;
    bool json, all, hot, tree, folded, pprof, speedscope, efficiency, critical_path;
    uint64_t top, wait; /* wait: seconds */
    struct rank_list ranks;
    struct window_span windows;
};

/* Shows the samples of all ranks of a run together. Returns an exit code. */
int report_hot(const struct report_options *o, const char *path);

#endif
