/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels with all kinds of loops, calls and addresses, for analyses. kernels [SIZE] prints a sum.
 */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif
enum { N = 24 };

static double p[N + 1][N + 1], u[N + 1][N + 1], v[N + 1][N + 1], cu[N + 1][N + 1], cv[N + 1][N + 1],
    z[N + 1][N + 1], h[N + 1][N + 1];

/* calc1 of swim: the example of Ketterlin and Clauss, "Efficient Memory Tracing by Program
 * Skeletonization", ISPASS 2011. */
KEEP static void stencil(int n, int m, double fsdx, double fsdy)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            cu[j][i + 1] = .5 * (p[j][i + 1] + p[j][i]) * u[j][i + 1];
            cv[j + 1][i] = .5 * (p[j + 1][i] + p[j][i]) * v[j + 1][i];
            z[j + 1][i + 1] =
                (fsdx * (v[j + 1][i + 1] - v[j + 1][i]) - fsdy * (u[j + 1][i + 1] - u[j][i + 1])) /
                (p[j][i] + p[j][i + 1] + p[j + 1][i + 1] + p[j + 1][i] + 1);
            h[j][i] = p[j][i] + .25 * (u[j][i + 1] * u[j][i + 1] + u[j][i] * u[j][i] +
                                       v[j + 1][i] * v[j + 1][i] + v[j][i] * v[j][i]);
        }
}

/* Sizes are arguments: C's variable-length arrays. */
KEEP static double rectangle(long n, long m, double a[n][m], unsigned step)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        for (unsigned j = 0; j < m; j += step)
            sum += a[i][j] * (double)(i ^ j);
    return sum;
}

KEEP static void su3(double complex m[3][3], const double complex *x, double complex *y)
{
    for (int i = 0; i < 3; i++) {
        y[i] = 0;
        for (int j = 0; j < 3; j++)
            y[i] += m[i][j] * x[j];
    }
}

struct node {
    struct node *next, *child;
    long cost;
};

KEEP static long chase(struct node *n)
{
    long cost = 0;
    while (n != NULL) {
        if (n->child != NULL && n->cost > cost)
            cost += n->child->cost;
        cost += n->cost;
        n = n->next;
    }
    return cost;
}

KEEP static void sparse(int n, const int *row, const int *column, const double *a, const double *x,
                        double *y)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            sum += a[k] * x[column[k]];
        y[i] = sum;
    }
}

KEEP static void fft(double complex *a, unsigned n)
{
    for (unsigned i = 1, j = 0; i < n; i++) {
        unsigned bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
    }
    for (unsigned length = 2; length <= n; length <<= 1)
        for (unsigned i = 0; i < n; i += length)
            for (unsigned k = 0; k < length / 2; k++) {
                double complex even = a[i + k],
                               odd = a[i + k + length / 2] * (1 - 2 * I * k / length);
                a[i + k] = even + odd;
                a[i + k + length / 2] = even - odd;
            }
}

KEEP static int order(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

KEEP static void sift(int *a, int root, int end)
{
    for (int child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && a[child] < a[child + 1])
            child++;
        if (a[root] >= a[child])
            break;
        int t = a[root];
        a[root] = a[child];
        a[child] = t;
    }
}

KEEP static void heap_sort(int *a, int n)
{
    for (int root = n / 2; root-- > 0;)
        sift(a, root, n);
    for (int end = n; --end > 0;) {
        int t = a[end];
        a[end] = a[0];
        a[0] = t;
        sift(a, 0, end);
    }
}

KEEP static const char *search(const char *text, const char *word)
{
    for (; *text != '\0'; text++) {
        size_t k = 0;
        while (word[k] != '\0' && text[k] == word[k])
            k++;
        if (word[k] == '\0')
            return text;
    }
    return NULL;
}

KEEP static unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

KEEP static long interpret(const uint8_t *program, long *memory)
{
    long a = 0, count = 0;
    for (size_t pc = 0;; pc++) {
        switch (program[pc] >> 4) {
        case 0: return a + count;
        case 1: a += program[pc] & 15; break;
        case 2: a -= program[pc] & 15; break;
        case 3: memory[program[pc] & 15] = a; break;
        case 4: a = memory[program[pc] & 15]; break;
        case 5: a *= 3; break;
        case 6: a ^= memory[a & 15]; break;
        case 7:
            if (a > 0)
                pc -= program[pc] & 15;
            break;
        case 8: a >>= program[pc] & 15; break;
        default: count++; break;
        }
    }
}

/* Narrow counters, signs, shifts, conditional moves. */
KEEP static unsigned narrow(const uint8_t *bytes, short from, signed char step, uint16_t *out)
{
    unsigned sum = 0;
    for (short i = from; i >= 0; i = (short)(i + step)) {
        uint8_t b = bytes[(uint8_t)(i * 7)];
        sum = sum * 33 + (b > 128 ? b : 256u - b);
        out[sum % 64] = (uint16_t)(i << 3 | b >> 5);
    }
    return sum;
}

/* A loop with two entries */
KEEP static int two_entries(int n, const int *a)
{
    int sum = 0, i = 0;
    if (n & 1)
        goto middle;
    do {
        sum += a[i];
    middle:
        sum ^= a[i + 1];
        i += 2;
    } while (i < n);
    return sum;
}

int main(int argc, char **argv)
{
    static int keys[200], row[21], column[60];
    static double a[60], x[64], y[20];
    static double complex m[3][3], c[3], d[3], wave[32];
    static struct node nodes[50];
    static uint8_t bytes[256];
    static uint16_t out[64];
    static const uint8_t program[] = {0x1f, 0x31, 0x1e, 0x50, 0x61, 0x32, 0x42, 0x21,
                                      0x90, 0x82, 0x32, 0x42, 0x21, 0x77, 0x00};
    long memory[16] = {3, 1, 4, 1, 5, 9, 2, 6};
    int size = argc > 1 ? atoi(argv[1]) : N;
    double sum = 0;
    for (int i = 0; i <= N; i++)
        for (int j = 0; j <= N; j++) {
            p[i][j] = i + j;
            u[i][j] = i * j % 7;
            v[i][j] = (i ^ j) % 5;
        }
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)(i * 151 + 7);
    for (int i = 0; i < 50; i++)
        nodes[i * 7 % 50] = (struct node){i < 49 ? &nodes[(i + 1) * 7 % 50] : NULL,
                                          i % 3 ? &nodes[i / 2] : NULL, i};
    for (int i = 0; i < 200; i++)
        keys[i] = bytes[i] * 31 % 97;
    for (int i = 0; i < 60; i++) {
        a[i] = i;
        column[i] = bytes[i] % 64;
        x[i] = bytes[i];
    }
    for (int i = 0; i <= 20; i++)
        row[i] = 3 * i;
    stencil(size, size, 4, 5);
    sum += rectangle(12, 17, (double(*)[17])p, 3);
    su3(m, c, d);
    sum += (double)chase(nodes);
    sparse(20, row, column, a, x, y);
    fft(wave, 32);
    qsort(keys, 100, sizeof *keys, order);
    heap_sort(keys + 100, 100);
    sum += search("a text of some words, in which one is found", "one") != NULL;
    sum += ackermann(2, 3);
    sum += (double)interpret(program, memory);
    sum += narrow(bytes, 90, -3, out);
    sum += two_entries(11, keys) + two_entries(12, keys);
    printf("%.6g %d %d\n", sum + h[3][4] + cu[2][2] + cv[1][1] + z[2][1] + y[3], keys[3],
           keys[103]);
    return 0;
}
