/* SPDX-License-Identifier: BSD-3-Clause
 * Switches and computed gotos, whose targets are in tables. */
#include <stdio.h>
#include <stdlib.h>

#define CASES(X)                                                                                   \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

__attribute__((noinline)) static long dense(long n, long v)
{
    switch (n) {
#define X(k)                                                                                       \
    case k: return v * (k + 3) ^ (v >> (k & 3));
        CASES(X)
#undef X
    default: return -1;
    }
}

__attribute__((noinline)) static long calls(int n, long v)
{
    switch (n) {
#define X(k)                                                                                       \
    case 100 + k: printf("case " #k " of %ld\n", v); return labs(v - k) + dense(k, v);
        CASES(X)
#undef X
    }
    return 0;
}

__attribute__((noinline)) static long interpret(const unsigned char *program)
{
    static const void *const labels[] = {&&stop, &&add, &&twice, &&less, &&dump};
    long v = 1;
    goto *labels[*program];
add:
    v += *++program;
    goto *labels[*++program];
twice:
    v *= 2;
    goto *labels[*++program];
less:
    v -= *++program;
    goto *labels[*++program];
dump:
    printf("v %ld\n", v);
    goto *labels[*++program];
stop:
    return v;
}

int main(int argc, char **argv)
{
    static const unsigned char program[] = {1, 5, 2, 2, 4, 3, 7, 4, 0};
    long sum = 0;
    (void)argv;
    for (int i = 0; i < 20; i++)
        sum += calls(98 + i * argc, i) + dense(i, sum);
    printf("%ld %ld\n", sum, interpret(program));
    return 0;
}
