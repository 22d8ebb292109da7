/* SPDX-License-Identifier: BSD-3-Clause
 * Jumps whose targets cannot be known beforehand: addresses of labels that are passed on and stored
 * elsewhere. Argument: PART. Between open_window() and close_window() each part accesses `cells`
 * and its stack. */
#include <stdio.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static volatile long cells[64];
static void *volatile labels[3];

APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

APART void keep(void *const *from)
{
    for (int k = 0; k < 3; k++)
        labels[k] = from[k];
}

APART long leaf(long n)
{
    cells[1] += n;
    return cells[1] & 7;
}

/* --- part calls: calls from code that only such jumps reach ----------------------------------- */

APART long calls(long n)
{
    void *from[] = {&&one, &&two, &&over};
    long sum = 0;
    keep(from);
    goto *labels[n % 2];
one:
    cells[2] += leaf(n);
    cells[3] += sum;
    if (n-- > 0)
        goto *labels[n % 2];
    goto *labels[2];
two:
    sum += leaf(n + cells[4]);
    cells[5] ^= leaf(sum);
    cells[6]++;
    if (n-- > 0)
        goto *labels[n % 2];
    goto *labels[2];
over:
    cells[7] += sum;
    return sum;
}

/* --- part begins: an instrumented copy cannot have the code at a jump's target ---------------- */

APART long begins(long n)
{
    void *from[] = {&&one, &&two, &&over};
    keep(from);
    goto *labels[n];
one:
    __asm__ volatile("std\n cld" ::: "memory");
    cells[8] += n;
    cells[9] += leaf(n);
    goto *labels[2];
two:
    cells[10] += n;
    goto *labels[0];
over:
    cells[11]++;
    return cells[9];
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    long sum = 0;
    open_window();
    if (strcmp(part, "calls") == 0)
        for (int k = 0; k < 6; k++)
            sum += calls(k);
    else
        for (int k = 0; k < 4; k++)
            sum += begins(k & 1);
    cells[12] += sum;
    close_window();
    (void)printf("%ld %ld\n", sum, cells[1]);
    return 0;
}
