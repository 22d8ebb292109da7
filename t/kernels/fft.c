/* SPDX-License-Identifier: BSD-3-Clause
 * Fourier transforms of complex numbers: in place with reversed bits, and recursive by halves.
 * SIZE: the binary logarithm of their number. */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>

struct complex {
    double re, im;
};

static struct complex *roots; /* exp(-2 pi i k / n), k < n / 2 */

static struct complex times(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

KEEP static void reverse(struct complex *a, unsigned n)
{
    for (unsigned i = 1, j = 0; i < n; i++) {
        unsigned bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
    }
}

KEEP static void in_place(struct complex *a, unsigned n)
{
    reverse(a, n);
    for (unsigned length = 2; length <= n; length <<= 1)
        for (unsigned i = 0; i < n; i += length)
            for (unsigned k = 0; k < length / 2; k++) {
                struct complex even = a[i + k],
                               odd = times(a[i + k + length / 2], roots[n / length * k]);
                a[i + k] = (struct complex){even.re + odd.re, even.im + odd.im};
                a[i + k + length / 2] = (struct complex){even.re - odd.re, even.im - odd.im};
            }
}

/* Transforms every `step`th element of `from` into `to`. The whole transform has `all` elements. */
KEEP static void by_halves(const struct complex *from, struct complex *to, unsigned n,
                           unsigned step, unsigned all)
{
    if (n == 1) {
        to[0] = from[0];
        return;
    }
    by_halves(from, to, n / 2, 2 * step, all);
    by_halves(from + step, to + n / 2, n / 2, 2 * step, all);
    for (unsigned k = 0; k < n / 2; k++) {
        struct complex even = to[k], odd = times(to[k + n / 2], roots[all / n * k]);
        to[k] = (struct complex){even.re + odd.re, even.im + odd.im};
        to[k + n / 2] = (struct complex){even.re - odd.re, even.im - odd.im};
    }
}

KEEP static double difference(const struct complex *a, const struct complex *b, unsigned n)
{
    double sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += fabs(a[i].re - b[i].re) + fabs(a[i].im - b[i].im);
    return sum / n;
}

int main(int argc, char **argv)
{
    unsigned n = 1u << kernel_argument(argc, argv, 1, 14, 24);
    long turns = kernel_argument(argc, argv, 2, 40, 1000000);
    uint32_t state = 9;
    struct complex *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b), *c = calloc(n, sizeof *c);
    roots = calloc(n, sizeof *roots);
    for (unsigned i = 0; i < n; i++) {
        double angle = -2 * 3.14159265358979 * i / n;
        roots[i] = (struct complex){cos(angle), sin(angle)};
        a[i] = (struct complex){kernel_random(&state) % 1000, 0};
    }
    double sum = 0, began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        for (unsigned i = 0; i < n; i++)
            b[i] = a[i];
        in_place(b, n);
        by_halves(a, c, n, 1, n);
        sum += difference(b, c, n) < 1e-6;
        a[turn % n].re += 1;
    }
    close_window();
    kernel_end(began, sum + floor(b[1].re));
    return 0;
}
