/* SPDX-License-Identifier: BSD-3-Clause
 * The invariants that `regtrace check` tests in a run, one file at a time. */
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
    CHECK_PROFILE,
    CHECK_INDEX,
    CHECK_PATHS,
    CHECK_RULES
};

struct check {
    const char *file;           /* being checked */
    struct window_span windows; /* if given, only its rows are checked */
    uint64_t in_span;           /* rows of /windows in the span */
    bool live;                  /* a file is still being written: regtrace.h5 may be older */
    uint64_t violations, by_rule[CHECK_RULES];
    uint64_t shown[CHECK_RULES]; /* in this file */
    uint64_t facts;              /* comparisons made: to compare nothing is no success */
    /* Files that could not be opened to check them, and to compare them with regtrace.h5. */
    uint64_t unreadable, unopened;
};

const char *check_rule_name(enum check_rule rule);

/* Counts a violation and prints it. */
void check_violation(struct check *c, enum check_rule rule, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Checks the tables of one rank: check_tables.c. */
void check_tables(struct check *c, const struct rt_rank *rank);
/* Returns the row of a call path in the sorted table, or the number of rows if it is not there. */
size_t check_path_row(const struct rt_rank_tables *t, uint32_t path);

/* Checks the profile of MPI calls of one rank, if it has ended by itself: check_profile.c. */
void check_profile(struct check *c, const struct rt_rank *rank);

/* Checks all events of one rank: check_events.c. Returns 0, or -errno with the text if they could
 * not be read. */
RT_MUST_CHECK int check_events(struct check *c, struct rt_rank *rank, struct rt_error *e);

/* Checks /pieces while the events are read in order: check_pieces.c. Only the rows that
 * rt_rank_pieces() accepts. */
struct check_pieces {
    const struct rt_piece *pieces;
    size_t count, at;
    /* an event of another thread in this piece was reported */
    bool told;
};
void check_pieces_begin(struct check_pieces *p, struct check *c, const struct rt_rank *rank);
/* Checks a block of events, in order; its first event is row `first`. */
void check_pieces_block(struct check_pieces *p, struct check *c, const struct rt_event *block,
                        uint64_t first, size_t got);

/* Compares regtrace.h5 with the rank files: check_index.c. */
void check_index(struct check *c, const struct rt_run *run);

#endif
