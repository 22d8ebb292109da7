/* SPDX-License-Identifier: BSD-3-Clause
 * Sorting: quicksort, merge sort, heap sort, and the library's qsort with an order of the program.
 * SIZE: numbers. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

KEEP static void quick(int *a, long n)
{
    while (n > 12) {
        int pivot = a[n / 2];
        long i = 0, j = n - 1;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                int t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        quick(a, j + 1);
        a += i;
        n -= i;
    }
    for (long i = 1; i < n; i++) {
        int key = a[i];
        long j = i;
        for (; j > 0 && a[j - 1] > key; j--)
            a[j] = a[j - 1];
        a[j] = key;
    }
}

KEEP static void merge(int *a, int *other, long n)
{
    if (n < 2)
        return;
    long half = n / 2, i = 0, j = half, k = 0;
    merge(a, other, half);
    merge(a + half, other, n - half);
    while (i < half && j < n)
        other[k++] = a[j] < a[i] ? a[j++] : a[i++];
    while (i < half)
        other[k++] = a[i++];
    while (j < n)
        other[k++] = a[j++];
    for (k = 0; k < n; k++)
        a[k] = other[k];
}

static void sift(int *a, long root, long end)
{
    for (long child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && a[child] < a[child + 1])
            child++;
        if (a[root] >= a[child])
            break;
        int t = a[root];
        a[root] = a[child];
        a[child] = t;
    }
}

KEEP static void heap(int *a, long n)
{
    for (long root = n / 2; root-- > 0;)
        sift(a, root, n);
    for (long end = n; --end > 0;) {
        int t = a[end];
        a[end] = a[0];
        a[0] = t;
        sift(a, 0, end);
    }
}

static int order(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

KEEP static long ascends(const int *a, long n)
{
    long good = 1;
    for (long i = 1; i < n; i++)
        good += a[i - 1] <= a[i];
    return good;
}

int main(int argc, char **argv)
{
    long n = kernel_argument(argc, argv, 1, 20000, 10000000), sum = 0;
    long turns = kernel_argument(argc, argv, 2, 10, 1000000);
    uint32_t state = 1;
    int *from = calloc((size_t)n, sizeof *from), *a = calloc((size_t)n, sizeof *a),
        *other = calloc((size_t)n, sizeof *other);
    for (long i = 0; i < n; i++)
        from[i] = (int)(kernel_random(&state) & 0xffffff);
    memcpy(a, from, (size_t)n * sizeof *a);
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        memcpy(a, from, (size_t)n * sizeof *a);
        quick(a, n);
        sum += ascends(a, n);
        memcpy(a, from, (size_t)n * sizeof *a);
        merge(a, other, n);
        sum += ascends(a, n);
        memcpy(a, from, (size_t)n * sizeof *a);
        heap(a, n);
        sum += ascends(a, n);
        memcpy(a, from, (size_t)n * sizeof *a);
        qsort(a, (size_t)n, sizeof *a, order);
        sum += ascends(a, n);
    }
    close_window();
    kernel_end(began, (double)sum + a[n / 3]);
    return 0;
}
