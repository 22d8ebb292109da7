/* SPDX-License-Identifier: BSD-3-Clause
 * The sums of one run by what was called and by window. */
#ifndef REGTRACE_TOOLS_DIFF_TALLY_H
#define REGTRACE_TOOLS_DIFF_TALLY_H

#include "base/toolkit/key_table.h"
#include "tools/waits/wait_states.h"
#include "tools/report/report.h"

enum diff_table {
    DIFF_TOTALS,
    DIFF_MPI,
    DIFF_FUNCTIONS,
    DIFF_SAMPLES,
    DIFF_PATHS,
    DIFF_WAITS,
    DIFF_LATE,
    DIFF_COUNTERS,
    DIFF_WINDOWS, /* has no rows here: the sums of the totals by window */
    DIFF_TABLES
};

/* Rows of DIFF_TOTALS. */
enum diff_total { TOTAL_WINDOW, TOTAL_OUTSIDE, TOTAL_MPI, TOTAL_WAITS, DIFF_TOTAL_ROWS };

/* What a row has. count: calls, waits, windows of threads, periods of samples, or
 * what a counter counted. */
enum diff_quantity { DIFF_TIME, DIFF_COUNT, DIFF_BYTES, DIFF_QUANTITIES };

struct tally_values {
    double of[DIFF_QUANTITIES]; /* ns, a number, bytes */
};

/* A window of the run: those of the same ordinal, of all ranks. */
struct tally_window {
    int32_t ordinal;
    uint32_t ranks; /* processes that have it */
    bool is_cut;    /* its end is unknown on some rank */
    char *region;   /* id of its region on the first of these ranks; "": none */
};

/* Zero-initialize before use; free with tally_free(). */
struct tally {
    struct report report; /* names of what the rows are about */
    /* high: table << 32 | kind of wait << 16 | number, low: place; see below */
    struct key_table rows;
    struct key_table cells;      /* high: row, low: ordinal of the window */
    struct tally_values *values; /* by cell */
    size_t value_room;
    char **counters; /* names */
    size_t counter_count, counter_room;
    struct tally_window *windows; /* by ordinal */
    size_t window_count;
    uint32_t processes;       /* that have windows */
    const char *why_no_waits; /* why the waits are not known; NULL: they are. Of `report`. */
    uint64_t lost;            /* events */
};

/* Reads a run. Prints a message on failure, and for each file that cannot be read. Returns 0, or
 * -errno if there is nothing to compare; call tally_free() in both cases. */
RT_MUST_CHECK int tally_collect(struct tally *t, const struct rt_run *run,
                                const struct rank_list *ranks, const struct window_span *windows);
void tally_free(struct tally *t);

static inline enum diff_table tally_table(const struct tally *t, uint32_t row)
{
    return (enum diff_table)(t->rows.keys[row].high >> 32);
}

/* --- what a row is about: fields of its key --------------------------------------------------- */

/* enum diff_total; index of report.names; number of `counters`. */
static inline uint32_t tally_number(const struct tally *t, uint32_t row)
{
    return (uint32_t)(t->rows.keys[row].high & 0xffff);
}
static inline enum wait_kind tally_wait_kind(const struct tally *t, uint32_t row)
{
    return (enum wait_kind)(t->rows.keys[row].high >> 16 & 0xffff);
}
/* Is it a row about waits? */
static inline bool tally_is_wait(const struct tally *t, uint32_t row)
{
    enum diff_table table = tally_table(t, row);
    return table == DIFF_WAITS || table == DIFF_LATE ||
           (table == DIFF_TOTALS && tally_number(t, row) == TOTAL_WAITS);
}
/* A node of report.call_tree, or KEY_NONE; of DIFF_FUNCTIONS and DIFF_SAMPLES an item of
 * report.addresses. */
static inline uint32_t tally_place(const struct tally *t, uint32_t row)
{
    return (uint32_t)t->rows.keys[row].low;
}

#endif
