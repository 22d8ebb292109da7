/* SPDX-License-Identifier: BSD-3-Clause
 * What the report adds to its sums, piece by piece, for those who sum up otherwise: by window, say.
 */
#ifndef REGTRACE_TOOLS_REPORT_REPORT_PIECES_H
#define REGTRACE_TOOLS_REPORT_REPORT_PIECES_H

#include "base/error.h"

#include <stdint.h>

enum report_piece_kind {
    PIECE_MPI,      /* an outermost MPI call */
    PIECE_FUNCTION, /* a call of a recorded function of the program */
    PIECE_COUNTER,  /* a count of REGTRACE_EVENTS in a window of a thread */
    PIECE_WAIT,     /* a wait for another rank */
    PIECE_SAMPLE,   /* a sample of REGTRACE_SAMPLE */
};

/* Fields that a kind does not have are 0. Paths are nodes of the report's call tree; KEY_NONE:
 * unknown. */
struct report_piece {
    enum report_piece_kind kind;
    int32_t window;     /* ordinal; negative: outside of windows */
    uint32_t wait_kind; /* enum wait_kind */
    uint32_t function;  /* MPI function: index of report.names */
    uint32_t path;      /* of the MPI call */
    uint32_t late;      /* MPI function that another rank called late; EVENT_MPI_FUNCTIONS_MOST:
                         * unknown */
    uint32_t late_path; /* its call path */
    uint32_t item;      /* function of the program, or sampled place: of report.addresses */
    const char *name;   /* of a counter; valid during the call */
    double ns;          /* its time; of a function of the program its own, without callees */
    uint64_t amount;    /* bytes of an MPI call; count of a counter; periods of a sample */
};

struct report_observer {
    /* Takes a piece of a rank that the report keeps. Returns 0 or -ENOMEM, which ends the report.
     */
    int (*take)(void *context, const struct report_piece *piece);
    void *context;
};

#endif
