// SPDX-License-Identifier: BSD-3-Clause
// Functions whose names have dots: a part of a function that was inlined (grow.part.0), nested
// functions (by.0, called by pointer and directly), and versions for processors (dot.avx2). Also
// calls through retpolines, with -mindirect-branch.
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noipa))
KEEP void open_window(void)
{
    __asm__ volatile("");
}
KEEP void close_window(void)
{
    __asm__ volatile("");
}

static int grow(int **p, int *cap, int n)
{
    if (n < *cap)
        return 0;
    int *q = malloc(sizeof(int) * (size_t)n * 2);
    for (int i = 0; i < *cap; i++)
        q[i] = (*p)[i];
    for (int i = *cap; i < 2 * n; i++)
        q[i] = i * 3;
    free(*p);
    *p = q;
    *cap = 2 * n;
    return 1;
}
KEEP int one(int **p, int *c, int n)
{
    return grow(p, c, n) + (*p)[n - 1];
}
KEEP int two(int **p, int *c, int n)
{
    return grow(p, c, n * 2) * 7 + (*p)[n];
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("default", "avx2")))
#endif
__attribute__((noinline)) static int
dot(const int *a, const int *b, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

KEEP static int apply(int (*f)(int), int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += f(i);
    return s;
}

static int a[64], b[64];
KEEP static int plain(int i)
{
    return a[i & 63] + 1;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 20, *p = NULL, c = 0, s = 0, base[4] = {1, 2, 3, 4};
    int (*volatile pointer)(int) = plain;
#if defined(__GNUC__) && !defined(__clang__)
    int by(int i)
    {
        return base[i & 3] + b[i & 63];
    }
#else
#define by plain
#endif
    s = dot(a, b, 1) + base[n & 3]; /* now the version is chosen */
    open_window();
    for (int i = 1; i < n; i++)
        s += one(&p, &c, i) + two(&p, &c, i);
    s += apply(by, n) + by(n) + apply(pointer, n) + pointer(n);
    s += dot(a, b, 64);
    close_window();
    (void)printf("%d\n", s);
    return 0;
}
