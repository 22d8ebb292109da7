/* SPDX-License-Identifier: BSD-3-Clause
 * Student's t distribution, and how many of many tests are significant. */
#ifndef REGTRACE_TOOLS_DIFF_STUDENT_H
#define REGTRACE_TOOLS_DIFF_STUDENT_H

#include <stddef.h>

/* Returns the probability that |t| of `freedom` degrees of freedom (1 or more) is larger than this.
 */
double student_tails(double t, double freedom);
/* Returns the t of which student_tails() is `p`, 0 < p < 1. */
double student_quantile(double p, double freedom);
/* Returns the largest p that is significant, so that among all that are, the expected share by
 * chance is `level` (Benjamini and Hochberg 1995); 0 if none is. Sorts p. */
double student_threshold(double *p, size_t count, double level);

#endif
