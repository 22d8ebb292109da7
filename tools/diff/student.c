/* SPDX-License-Identifier: BSD-3-Clause
 * Student's t by the incomplete beta function, and the procedure of Benjamini and Hochberg. */
#include "tools/diff/student.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Returns the continued fraction of the incomplete beta function (DLMF 8.17.22), by the method of
 * Lentz. It converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) > DBL_MIN ? d : DBL_MIN);
    double sum = d;
    for (int m = 1; m < 10000; m++) {
        const double terms[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                 -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double step = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) > DBL_MIN ? d : DBL_MIN);
            c = 1 + terms[i] / c;
            c = fabs(c) > DBL_MIN ? c : DBL_MIN;
            step = c * d;
            sum *= step;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return sum;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_tails(double t, double freedom)
{
    return isinf(t) ? 0 : beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_quantile(double p, double freedom)
{
    double least = 0, most = 1;
    while (student_tails(most, freedom) > p && most < 1e300)
        most *= 2;
    for (int i = 0; i < 200 && most - least > 1e-12 * most; i++) {
        double middle = (least + most) / 2;
        if (student_tails(middle, freedom) > p)
            least = middle;
        else
            most = middle;
    }
    return most;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double student_threshold(double *p, size_t count, double level)
{
    if (count > 1)
        qsort(p, count, sizeof *p, by_value);
    for (size_t i = count; i > 0; i--)
        if (p[i - 1] <= level * (double)i / (double)count)
            return p[i - 1];
    return 0;
}
