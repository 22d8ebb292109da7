/* SPDX-License-Identifier: BSD-3-Clause
 * Which differences of two runs are more than noise, by how they vary from window to window. */
#ifndef REGTRACE_TOOLS_DIFF_NOISE_H
#define REGTRACE_TOOLS_DIFF_NOISE_H

#include "tools/diff/diff.h"

/* Mean of some values, and the sum of their squared deviations from it. */
struct moments {
    double mean, squares;
};

/* How a quantity of a row varies from window to window. */
struct spread {
    uint32_t windows; /* in which some run has the row */
    uint32_t both;    /* in which both have it */
    struct moments differences;
    struct moments ratios; /* their logarithms, if both runs have the row in all windows */
};

/* Take the values of both runs in each window in which some run has the row, in three passes. The
 * first adds them to the sums in f. `all`: how many windows there are. */
void noise_first_pass(struct spread *s, struct diff_figure *f, const double value[2]);
void noise_second_pass(struct spread *s, const struct diff_figure *f, const double value[2],
                       size_t all);
void noise_third_pass(struct spread *s, const double value[2], size_t all);

/* These set noise and p of a figure. `is_measured`: its noise is in proportion to its size, as that
 * of times is. They are NAN if there are fewer than two windows; or three, for the second. */
void noise_of_sum(struct diff_figure *f, const struct spread *s, size_t all, bool is_measured);
void noise_of_window(struct diff_figure *f, const struct spread *s, size_t all, bool is_measured);

/* Marks what is significant among the figures of all rows, and apart from them what stands out
 * among those of windows. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int noise_mark(struct diff *d);

#endif
