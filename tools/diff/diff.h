/* SPDX-License-Identifier: BSD-3-Clause
 * Two runs side by side: the rows of both, aligned, and which of their differences are more than
 * noise. */
#ifndef REGTRACE_TOOLS_DIFF_DIFF_H
#define REGTRACE_TOOLS_DIFF_DIFF_H

#include "tools/diff/tally.h"

/* Of the differences that are marked as significant, this share is by chance. */
#define DIFF_LEVEL 0.01

/* One quantity of a row, in all compared windows. Sums over ranks, or means of a rank if the runs
 * have different numbers of ranks (struct diff). */
struct diff_figure {
    double value[2];
    double noise; /* a difference beyond it has p below 5 %; NAN: unknown */
    double p;     /* that chance alone makes such a difference; NAN: unknown */
    /* More than chance; of DIFF_WINDOWS: stands out among the windows. Nobody knows how much one
     * window varies by chance, as it is there once. */
    bool is_significant;
};

struct diff_row {
    enum diff_table table;
    char *name; /* what it is, or names of functions along a call path, without source lines */
    /* The same as each run has it, with source lines; NULL: the run does not have it. */
    char *shown[2];
    struct diff_figure of[DIFF_QUANTITIES];
};

/* A window that only one run has, or that is not comparable. */
struct window_left_out {
    int run; /* 0 or 1 */
    int32_t ordinal;
};

struct diff {
    struct tally run[2];
    struct diff_row *rows; /* by table; in a table the most important first */
    size_t row_count, room;
    int32_t *windows; /* ordinals of the compared windows, ascending */
    size_t window_count;
    struct window_left_out *left_out; /* by run, then ordinal */
    size_t left_out_count;
    bool is_per_rank; /* the values are means of a rank */
};

#define DIFF_WHOLE "in windows" /* name of the total that the others are parts of */

/* Compares d->run[], which have been collected. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int diff_compare(struct diff *d);
void diff_free(struct diff *d);

/* Makes a row of each thing that one or both runs have; *row_of[i] gets the row of each row of
 * run[i]: to be freed. align.c. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int diff_align(struct diff *d, uint32_t *row_of[2]);

/* Returns the change in percent of run 1; NAN if that is 0. */
double diff_percent(const struct diff_figure *f);
/* Returns true if the time of some row is significantly longer in run 2, by more than that share
 * of run 1's time in windows. Sets *row to the one that grew most. */
bool diff_is_slower(const struct diff *d, double percent, const struct diff_row **row);

/* The quantity that a table is about: time, or what counters counted. */
enum diff_quantity diff_main_quantity(enum diff_table table);
/* Has some row of the table this quantity? */
bool diff_has(const struct diff *d, enum diff_table table, enum diff_quantity q);
/* What a table is about, for people; its name in JSON. */
const char *diff_table_title(enum diff_table table);
const char *diff_table_name(enum diff_table table);
/* Writes a figure of that quantity for people, such as "1.2 ms". Returns `out`. */
const char *diff_value_text(char out[32], enum diff_quantity q, double value);
/* Writes the difference of run 2 to run 1 with its sign. Returns `out`. */
const char *diff_difference_text(char out[40], enum diff_quantity q, const struct diff_figure *f);
/* What the counts of a table are: "calls". */
const char *diff_count_name(enum diff_table table);
/* Writes the change: "+4.2 %", "12 x", "new", "gone" or "=". Returns `out`. */
const char *diff_change_text(char out[32], const struct diff_figure *f);
/* Returns the row as run 2 has it, else as run 1 has it. */
const char *diff_row_text(const struct diff_row *row);
/* Returns what the noise and the marks of a comparison mean. */
const char *diff_noise_text(const struct diff *d);
/* Returns true if windows of one ordinal may be other parts of the program: the runs had different
 * chains. */
bool diff_chains_differ(const struct diff *d);
#define DIFF_CHAINS_DIFFER                                                                         \
    "The runs had different chains: a window of one need not be the same part of the program as "  \
    "that of the other."
/* Returns how many windows of a run are left out. */
size_t diff_left_out(const struct diff *d, int run);
/* Writes them: "3, 7-9". */
void diff_write_left_out(FILE *out, const struct diff *d, int run);

/* top: rows of each table that differ, 0: all. */
void diff_print_text(FILE *out, const struct diff *d, size_t top);
void diff_print_json(FILE *out, const struct diff *d);
void diff_print_html(FILE *out, const struct diff *d);

#endif
