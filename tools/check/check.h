/* SPDX-License-Identifier: BSD-3-Clause
 * The invariants that `regtrace check` holds a run against, one file at a time. */
#ifndef REGTRACE_TOOLS_CHECK_CHECK_H
#define REGTRACE_TOOLS_CHECK_CHECK_H

#include "tools/tools.h"
#include "writer/writer.h"

#define CHECK_SHOWN 20 /* violations printed per file and rule */

enum check_rule {
    CHECK_READABLE,
    CHECK_CLOSED,
    CHECK_ORDINALS,
    CHECK_WINDOWS,
    CHECK_CLOCKS,
    CHECK_COUNTS,
    CHECK_LOSSES,
    CHECK_BALANCE,
    CHECK_STRINGS,
    CHECK_CODES,
    CHECK_FIRED,
    CHECK_FOOTERS,
    CHECK_PIECES,
    CHECK_INDEX,
    CHECK_RULES
};

struct check {
    const char *file;           /* being looked at */
    struct window_span windows; /* of a span only its rows are held against the rules */
    uint64_t in_span;           /* rows of /windows in it */
    bool live;                  /* a file is still being written: regtrace.h5 is of before */
    uint64_t violations, by_rule[CHECK_RULES];
    uint64_t shown[CHECK_RULES]; /* in this file */
    uint64_t facts; /* how many things were compared: nothing looked at is no success */
};

const char *check_rule_name(enum check_rule rule);

/* Count and print one violation. */
void check_violation(struct check *c, enum check_rule rule, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Tables of one rank: check_tables.c. */
void check_tables(struct check *c, const struct rt_rank *rank);

/* Its events, all of them: check_events.c. 0 or -errno with the text where they could not be read. */
RT_MUST_CHECK int check_events(struct check *c, struct rt_rank *rank, struct rt_error *e);

/* /pieces: those rows that hold together, while the events pass by: check_pieces.c. */
struct check_pieces {
    const struct rt_piece *pieces;
    size_t count, at;
    bool told; /* of this piece, that an event in it is another thread's */
};
void check_pieces_begin(struct check_pieces *p, struct check *c, const struct rt_rank *rank);
/* Events from row `first` on, in order. */
void check_pieces_block(struct check_pieces *p, struct check *c, const struct rt_event *block,
                        uint64_t first, size_t got);

/* regtrace.h5 against the rank files: check_index.c. */
void check_index(struct check *c, const struct rt_run *run);

#endif
